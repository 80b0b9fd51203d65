// Loads libraries one after another, which lie at the same address, and calls their functions plug.
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        void *lib = dlopen(argv[i], RTLD_NOW);
        if (!lib) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        void (*plug)(void) = (void (*)(void))dlsym(lib, "plug");
        plug();
        plug();
        dlclose(lib);
    }
    return 0;
}
