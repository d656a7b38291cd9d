#pragma once

// OpenSSL 3 for Swift. Plain functions are called directly; an inline function stands here only where Swift cannot see
// the original, and says why.

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/provider.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

// MARK: Macros around SSL_CTX_ctrl and SSL_ctrl (function-like macros are not imported)

static inline int belfry_SSL_CTX_set_min_proto_version(SSL_CTX *context, int version) {
    return (int)SSL_CTX_set_min_proto_version(context, version);
}

// The option bits are macros with casts. No renegotiation: a write never has to wait for a read, and a peer cannot
// cause endless handshakes. No compression: it leaks the compressed content. No tickets: see TLSContext.
static inline void belfry_SSL_CTX_set_options(SSL_CTX *context) {
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
}

static inline void belfry_SSL_CTX_disable_session_cache(SSL_CTX *context) {
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
}

static inline void belfry_SSL_CTX_enable_read_ahead(SSL_CTX *context) {
    SSL_CTX_set_read_ahead(context, 1);
}

// Takes a reference of its own, unlike the "add0" form.
static inline int belfry_SSL_CTX_add1_chain_cert(SSL_CTX *context, X509 *certificate) {
    return (int)SSL_CTX_add1_chain_cert(context, certificate);
}

static inline int belfry_SSL_set_server_name(SSL *ssl, const char *name) {
    return (int)SSL_set_tlsext_host_name(ssl, name);
}

// MARK: Other macros

// BIO_get_mem_data writes a pointer through a cast that Swift cannot express.
static inline long belfry_BIO_get_memory(BIO *bio, char **data) {
    return BIO_get_mem_data(bio, data);
}

static inline void belfry_BIO_set_retry_read(BIO *bio) {
    BIO_set_retry_read(bio);
}

static inline void belfry_BIO_clear_retry_flags(BIO *bio) {
    BIO_clear_retry_flags(bio);
}

// The stack functions are macros with type checks built from casts.
static inline int belfry_X509_stack_count(const STACK_OF(X509) *stack) {
    return sk_X509_num(stack);
}

static inline X509 *belfry_X509_stack_value(const STACK_OF(X509) *stack, int index) {
    return sk_X509_value(stack, index);
}

static inline void belfry_X509_stack_free(STACK_OF(X509) *stack) {
    sk_X509_pop_free(stack, X509_free);
}

static inline int belfry_X509_REVOKED_stack_count(STACK_OF(X509_REVOKED) *stack) {
    return sk_X509_REVOKED_num(stack);
}

static inline X509_REVOKED *belfry_X509_REVOKED_stack_value(STACK_OF(X509_REVOKED) *stack, int index) {
    return sk_X509_REVOKED_value(stack, index);
}

// A macro around EVP_PKEY_Q_keygen, which is variadic: Swift imports neither.
static inline EVP_PKEY *belfry_generate_P256_key(void) {
    return EVP_EC_gen("P-256");
}

// Signs a digest with a nonce of the caller's, which comes as its inverse and r. Swift would warn of both functions:
// they are deprecated, though the parameter "nonce-type", which takes their place, begins with OpenSSL 3.2. The EC_KEY
// is the EVP_PKEY's.
static inline ECDSA_SIG *belfry_ECDSA_sign(
    EVP_PKEY *key, const unsigned char *digest, int count, const BIGNUM *inverse, const BIGNUM *r) {
    EC_KEY *numbers = (EC_KEY *)EVP_PKEY_get0_EC_KEY(key);
    return numbers == NULL ? NULL : ECDSA_do_sign_ex(digest, count, inverse, r, numbers);
}

// MARK: X509V3_CTX

// X509V3_CTX holds borrowed pointers and is initialised by a function and a macro (X509V3_set_ctx_nodb); kept in C, its
// life time is that of one call. The extension is written as in openssl.cnf, and copied.
static inline int belfry_X509_add_extension(X509 *certificate, X509 *issuer, int nid, const char *value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    if (extension == NULL) {
        return 0;
    }
    int added = X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
    return added;
}

// The same for a revocation list.
static inline int belfry_X509_CRL_add_extension(X509_CRL *list, X509 *issuer, int nid, const char *value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, NULL, NULL, list, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    if (extension == NULL) {
        return 0;
    }
    int added = X509_CRL_add_ext(list, extension, -1);
    X509_EXTENSION_free(extension);
    return added;
}
