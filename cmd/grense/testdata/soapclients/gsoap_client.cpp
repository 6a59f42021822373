// Asks the eleven searches by the classes that gSOAP generates and writes each answer, decoded and encoded again by gSOAP, as one line of XML:
// gsoap_client ENDPOINT KEY. gsoap_values.py prints their values. gSOAP reads no JSON: the questions are those of soapQuestions, written here.
#include "SoekServicePortBinding.nsmap"
#include "soapSoekServicePortBindingProxy.h"
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sstream>
#include <string>

static struct soap *ctx;

static char *text(const char *s) { return soap_strdup(ctx, s); }

static dom__StedsnavnContext *who() {
    dom__StedsnavnContext *c = soap_new_dom__StedsnavnContext(ctx);
    c->systemVersion = text("1");
    c->clientIdentification = text("accept");
    c->locale = text("en");
    c->snapshotVersion = soap_new_dom__Timestamp(ctx);
    c->snapshotVersion->timestamp = 253370761200; // 9999-01-01T00:00:00+01:00
    return c;
}

static ko__KommuneIdList *oslo() {
    ko__KommuneIdList *l = soap_new_ko__KommuneIdList(ctx);
    l->__sizeitem = 1;
    l->item = (ko__KommuneId **)soap_malloc(ctx, sizeof(ko__KommuneId *));
    l->item[0] = soap_new_ko__KommuneId(ctx);
    l->item[0]->value = text("0301");
    return l;
}

template <class T> static T *unit(T *s) {
    s->kommunenummer = text("0301");
    s->gaardsnummer = text("1-60");
    return s;
}

template <class T> static T *both(T *q) {
    q->beregnVisningsnavn = true;
    q->inkluderGeometri = true;
    return q;
}

// ASK sends a question, which the last argument completes, and writes the answer.
#define ASK(OP, COMPLETE) { \
    q__##OP *q = soap_new_q__##OP(ctx); \
    q->stedsnavnContext = who(); \
    COMPLETE; \
    q__##OP##Response a; \
    ctx->http_extra_header = key.c_str(); \
    if (service.OP(q, a) != SOAP_OK) { service.soap_stream_fault(std::cerr); return 1; } \
    std::ostringstream out; \
    ctx->os = &out; \
    if (soap_write_q__##OP##Response(ctx, &a) != SOAP_OK) { service.soap_stream_fault(std::cerr); return 1; } \
    ctx->os = NULL; \
    std::string s = out.str(); \
    for (char &c : s) if (c == '\n') c = ' '; \
    std::cout << s << std::endl; }

int main(int, char **argv) {
    std::string endpoint = argv[1], key = std::string("X-API-Key: ") + argv[2];
    endpoint = endpoint.substr(0, endpoint.find('?'));
    SoekServicePortBindingProxy service(endpoint.c_str(), SOAP_C_UTFSTRING);
    ctx = service.soap;
    ASK(findSteder, both(q)->stedSoek = soap_new_t__StedSoek(ctx); q->stedSoek->stedsnavn = text("Oslo*"))
    ASK(findStedsnavn, both(q)->stedsnavnSoek = soap_new_t__StedsnavnSoek(ctx); q->stedsnavnSoek->kommunerIds = oslo())
    ASK(findSkrivemaater, both(q)->skrivemaateSoek = soap_new_t__SkrivemaateSoek(ctx); q->skrivemaateSoek->kommunerIds = oslo())
    ASK(findStederForMatrikkelenhetreferanse, both(q)->soek = unit(soap_new_t__StedMatrikkelenhetreferanseSoek(ctx)))
    ASK(findStedsnavnForMatrikkelenhetreferanse, both(q)->soek = unit(soap_new_t__StedsnavnMatrikkelenhetreferanseSoek(ctx)))
    ASK(findSkrivemaaterForMatrikkelenhetreferanse, both(q)->soek = unit(soap_new_t__SkrivemaateMatrikkelenhetreferanseSoek(ctx)))
    ASK(findNavnesaker, q->navnesakSoek = soap_new_t__NavnesakSoek(ctx); q->navnesakSoek->stedsnavn = text("*vik*"))
    ASK(findVedtak, q->vedtakSoek = soap_new_t__VedtakSoek(ctx); q->vedtakSoek->vedtattEtter = soap_new_dom__LocalDate(ctx);
        q->vedtakSoek->vedtattEtter->date = text("2000-01-01"))
    ASK(findSamlevedtak, q->samlevedtakSoek = soap_new_t__SamlevedtakSoek(ctx))
    ASK(findBoeker, q->soeketekst = text("norske"))
    int year = 1990;
    ASK(findKartprodukter, q->utgivelsesaar = &year)
    return 0;
}
