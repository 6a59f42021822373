<?php
// Asks the eleven searches with PHP's SoapClient and prints decoded values: php php_client.php WSDL KEY < requests.json
$client = new SoapClient($argv[1], ['login' => 'key', 'password' => $argv[2], 'cache_wsdl' => WSDL_CACHE_NONE,
    'features' => SOAP_SINGLE_ELEMENT_ARRAYS, 'exceptions' => true]);

function flat($path, $v, &$out)
{
    if ($v === null || $v === '') {
        return;
    }
    if (is_object($v)) {
        $fields = get_object_vars($v);
        if (array_keys($fields) === ['item']) { // a list
            $v = $fields['item'];
        } else {
            foreach ($fields as $k => $x) {
                flat("$path.$k", $x, $out);
            }
            return;
        }
    }
    if (is_array($v)) {
        foreach (array_values($v) as $i => $x) {
            flat("{$path}[$i]", $x, $out);
        }
    } elseif (is_bool($v)) {
        $out[] = $path . '=' . ($v ? 'true' : 'false');
    } elseif (is_string($v) && preg_match('/^\d{4}-\d\d-\d\dT/', $v)) {
        $out[] = $path . '=' . (new DateTime($v))->setTimezone(new DateTimeZone('UTC'))->format('Y-m-d\TH:i:s\Z');
    } else {
        $out[] = "$path=$v";
    }
}

foreach (json_decode(stream_get_contents(STDIN), true) as $n => $r) {
    $out = [];
    flat("$n.{$r['operation']}", $client->__soapCall($r['operation'], [$r['parameters']])->return, $out);
    sort($out, SORT_STRING);
    echo implode("\n", $out), "\n";
}
