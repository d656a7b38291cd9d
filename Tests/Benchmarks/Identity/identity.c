// Gives every TLS context of a program a client certificate, for programs without an option for it: h2load has none.
//
//   LD_PRELOAD=…/belfry-bench-identity.so BELFRY_BENCH_IDENTITY=FILE h2load …
//
// FILE holds certificate and key in PEM form. A file that cannot be used ends the program with 78.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>

SSL_CTX *SSL_CTX_new(const SSL_METHOD *method) {
    SSL_CTX *(*create)(const SSL_METHOD *) = (SSL_CTX * (*)(const SSL_METHOD *)) dlsym(RTLD_NEXT, "SSL_CTX_new");
    const char *file = getenv("BELFRY_BENCH_IDENTITY");
    SSL_CTX *context = create ? create(method) : NULL;
    if (!context || !file) return context;
    if (SSL_CTX_use_certificate_chain_file(context, file) != 1
        || SSL_CTX_use_PrivateKey_file(context, file, SSL_FILETYPE_PEM) != 1) {
        fprintf(stderr, "belfry-bench-identity: no certificate and key in %s\n", file);
        exit(78);
    }
    return context;
}
