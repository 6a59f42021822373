# Asks the eleven searches with SOAP::Lite and prints decoded values: perl lite_client.pl ENDPOINT KEY < requests.json
# SOAP::Lite takes types from WSDL of the rpc style only: elements are named here, and what it decodes is a tree of SOAP::Data.
use strict;
use warnings;
use JSON::PP;
use SOAP::Lite;
use Time::Local;

my $base = 'http://stedsnavn.statkart.no/ssr/wsapi/v1/';
my %space = (q => 'service/soek', t => 'service/servicetyper', d => 'domain', ko => 'domain/kommune');
my %prefix = (stedsnavnContext => 'd', snapshotVersion => 'd', vedtattEtter => 'd', item => 'd', kommunerIds => 'ko');
my ($endpoint, $key) = @ARGV;
$endpoint =~ s/\?.*//;
my $soap = SOAP::Lite->proxy($endpoint)->on_action(sub { '' })->autotype(0);
$soap->transport->http_request->header('X-API-Key' => $key);
$soap->serializer->register_ns("$base$space{$_}", $_) for keys %space;
binmode STDOUT, ':encoding(UTF-8)';

# made returns the element of a value; $in is the prefix of the elements within the one around it.
sub made {
    my ($name, $v, $in) = @_;
    my $data = SOAP::Data->name("$in:$name");
    return $data->value($v ? 'true' : 'false')->type('') if JSON::PP::is_bool($v);
    return $data->value($v)->type('') unless ref $v;
    return map { made($name, $_, $in) } @$v if ref $v eq 'ARRAY';
    return $data->value('')->type('') unless %$v;
    my $within = $prefix{$name} // 't';
    return $data->value(\SOAP::Data->value(map { made($_, $v->{$_}, $within) } sort keys %$v));
}

sub flat {
    my ($path, $v, $out) = @_;
    my @inner = $v->value;
    if (ref $inner[0] eq 'REF') { # the elements within
        my @children = ${$inner[0]}->value;
        my $items = !grep { $_->name ne 'item' } @children;
        my $i = 0;
        flat($path . ($items ? '[' . $i++ . ']' : '.' . $_->name), $_, $out) for @children;
        return;
    }
    $v = $inner[0];
    return if !defined $v || $v eq '';
    if ($v =~ /^(\d+)-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:Z|([+-])(\d\d):(\d\d))$/) {
        my $at = timegm($6, $5, $4, $3, $2 - 1, $1) - ($7 ? "${7}1" * ($8 * 3600 + $9 * 60) : 0);
        my @t = gmtime $at;
        $v = sprintf '%04d-%02d-%02dT%02d:%02d:%02dZ', $t[5] + 1900, $t[4] + 1, @t[3, 2, 1, 0];
    }
    push @$out, "$path=$v";
}

my $n = 0;
for my $r (@{decode_json(join '', <STDIN>)}) {
    my ($operation, $parameters) = @$r{qw(operation parameters)};
    my $som = $soap->call(SOAP::Data->name("q:$operation"), map { made($_, $parameters->{$_}, 'q') } sort keys %$parameters);
    die $som->faultstring if $som->fault;
    my @out;
    flat($n++ . ".$operation", scalar $som->dataof('/Envelope/Body/[1]/return'), \@out);
    print "$_\n" for sort @out;
}
