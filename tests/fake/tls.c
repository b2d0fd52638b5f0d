/* Certificates made on the spot, P-256: a thousand handshakes take a blink. */
#include "tls.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/err.h"
#include "base/file.h"

#define DAY 86400L

enum kind {
    GOOD,
    EXPIRED,
    SELF_SIGNED,
    WRONG_HOST,
    KIND_COUNT,
};

struct tls {
    EVP_PKEY *ca_key;
    X509 *ca;
    SSL_CTX *contexts[KIND_COUNT];
};

static bool add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX context;
    X509_EXTENSION *extension;
    bool ok;

    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, cert, NULL, NULL, 0);
    extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    ok = extension && X509_add_ext(cert, extension, -1);
    X509_EXTENSION_free(extension);
    return ok;
}

struct wish {
    const char *name;
    const char *hosts; /* subjectAltName; NULL: an authority */
    long from, until;  /* seconds from now */
};

/* Signed by issuer, or by itself when that is NULL. */
static X509 *make_cert(EVP_PKEY *key, X509 *issuer, EVP_PKEY *issuer_key, const struct wish *wish)
{
    static long serial = 1;
    X509 *cert = X509_new();
    X509_NAME *name;
    bool ok;

    if (!cert)
        return NULL;
    name = X509_get_subject_name(cert);
    ok = X509_set_version(cert, 2) && ASN1_INTEGER_set(X509_get_serialNumber(cert), serial++) &&
         X509_gmtime_adj(X509_getm_notBefore(cert), wish->from) &&
         X509_gmtime_adj(X509_getm_notAfter(cert), wish->until) && X509_set_pubkey(cert, key) &&
         X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)wish->name, -1,
                                    -1, 0) &&
         X509_set_issuer_name(cert, issuer ? X509_get_subject_name(issuer) : name);
    if (wish->hosts)
        ok = ok && add_extension(cert, issuer ? issuer : cert, NID_subject_alt_name, wish->hosts);
    else
        ok = ok && add_extension(cert, cert, NID_basic_constraints, "critical,CA:TRUE") &&
             add_extension(cert, cert, NID_key_usage, "critical,keyCertSign,cRLSign");
    ok = ok && X509_sign(cert, issuer ? issuer_key : key, EVP_sha256());
    if (ok)
        return cert;
    X509_free(cert);
    return NULL;
}

static SSL_CTX *make_context(X509 *cert, EVP_PKEY *key)
{
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());

    if (!context)
        return NULL;
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_num_tickets(context, 0); /* nothing but the answer is ever sent */
    if (SSL_CTX_use_certificate(context, cert) == 1 && SSL_CTX_use_PrivateKey(context, key) == 1)
        return context;
    SSL_CTX_free(context);
    return NULL;
}

static bool make_kind(struct tls *t, enum kind kind)
{
    static const struct wish wishes[KIND_COUNT] = {
        [GOOD] = {"localhost", "DNS:localhost,IP:127.0.0.1,IP:::1", -DAY, 30 * DAY},
        [EXPIRED] = {"localhost", "DNS:localhost,IP:127.0.0.1,IP:::1", -400 * DAY, -35 * DAY},
        [SELF_SIGNED] = {"localhost", "DNS:localhost,IP:127.0.0.1,IP:::1", -DAY, 30 * DAY},
        [WRONG_HOST] = {"elsewhere.example", "DNS:elsewhere.example", -DAY, 30 * DAY},
    };
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = NULL;

    if (key && kind == SELF_SIGNED)
        cert = make_cert(key, NULL, NULL, &wishes[kind]);
    else if (key)
        cert = make_cert(key, t->ca, t->ca_key, &wishes[kind]);
    if (cert)
        t->contexts[kind] = make_context(cert, key);
    X509_free(cert);
    EVP_PKEY_free(key);
    return t->contexts[kind] != NULL;
}

struct tls *tls_new(struct err *err)
{
    static const struct wish ca = {"tests/fake authority", NULL, -500 * DAY, 30 * DAY};
    struct tls *t = mem_zalloc(sizeof(*t));
    bool ok;

    t->ca_key = EVP_EC_gen("P-256");
    t->ca = t->ca_key ? make_cert(t->ca_key, NULL, NULL, &ca) : NULL;
    ok = t->ca != NULL;
    for (int kind = 0; ok && kind < KIND_COUNT; kind++)
        ok = make_kind(t, (enum kind)kind);
    if (ok)
        return t;
    tls_free(t);
    err_set(err, ERR_UNSUPPORTED, "cannot make certificates: %s",
            ERR_reason_error_string(ERR_get_error()));
    return NULL;
}

void tls_free(struct tls *t)
{
    if (!t)
        return;
    for (int kind = 0; kind < KIND_COUNT; kind++)
        SSL_CTX_free(t->contexts[kind]);
    X509_free(t->ca);
    EVP_PKEY_free(t->ca_key);
    free(t);
}

int tls_write_ca(const struct tls *t, const char *file, struct err *err)
{
    BIO *bio = BIO_new(BIO_s_mem());
    char *text = NULL;
    long n = 0;
    int r = -1;

    if (bio && PEM_write_bio_X509(bio, t->ca))
        n = BIO_get_mem_data(bio, &text);
    if (n > 0)
        r = file_replace(file, str_make(text, (size_t)n), 0644, err);
    else
        err_set(err, ERR_IO, "cannot write the certificate");
    BIO_free(bio);
    return r;
}

struct ssl_ctx_st *tls_good(struct tls *t)
{
    return t->contexts[GOOD];
}

struct ssl_ctx_st *tls_bad(struct tls *t, enum fault_tls kind)
{
    switch (kind) {
    case TLS_EXPIRED:
        return t->contexts[EXPIRED];
    case TLS_SELF_SIGNED:
        return t->contexts[SELF_SIGNED];
    case TLS_WRONG_HOST:
        return t->contexts[WRONG_HOST];
    default:
        return t->contexts[GOOD];
    }
}
