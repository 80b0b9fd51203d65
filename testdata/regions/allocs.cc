// Allocates and frees, one way a line. The comments are what events_test.go expects: calls that
// allocate, bytes, calls that free.
#include <cstdlib>
#include <malloc.h>
#include <new>
#include <string>

void *volatile p;
void *volatile q;

struct alignas(64) Wide {
    char c[128];
};

__attribute__((noinline)) void *wrapped(size_t n)
{
    return malloc(n); // 10 100 0
}

struct Thrower {
    Thrower() { throw 1; }
    char c[24];
};

int main()
{
    p = malloc(100);                       // 1 100 0
    p = realloc(p, 200);                   // 1 200 0
    p = realloc(p, 100000);                // 1 100000 0
    free(p);                               // 0 0 1
    free(0);                               // 0 0 1
    p = calloc(7, 11);                     // 1 77 0
    free(p);                               // 0 0 1
    p = operator new(33);                  // 1 33 0
    operator delete(p);                    // 0 0 1
    p = new char[44];                      // 1 44 0
    delete[] (char *)p;                    // 0 0 1
    p = new (std::nothrow) int;            // 1 4 0
    delete (int *)p;                       // 0 0 1
    p = new Wide;                          // 1 128 0
    delete (Wide *)p;                      // 0 0 1
    p = aligned_alloc(64, 640);            // 1 640 0
    free(p);                               // 0 0 1
    p = memalign(64, 64);                  // 1 64 0
    free(p);                               // 0 0 1
    if (posix_memalign((void **)&p, 64, 50)) // 1 50 0
        return 1;
    free(p);                               // 0 0 1
    for (int i = 0; i < 10; i++) {
        p = wrapped(10);
        free(p);                           // 0 0 10
    }
    try {
        p = new Thrower;                   // 1 24 1
    } catch (int) {
    }                                      // 0 0 1
    try {
        p = new char[(size_t)1 << 60];     // 1 1152921504606846976 0
    } catch (std::bad_alloc &) {
    }                                      // 0 0 1
    p = malloc(5);                         // 1 5 0
    free(p);                               // 0 0 1
    return 0;
}
