/* The wall clock of one program, moved by as many seconds as the file $CLOCK says at that moment.
   Only that program's: nobody but the machine's root may set the machine's. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*kernel)(clockid_t, struct timespec *);
    if (!kernel)
        kernel = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = kernel(clock, now);
    const char *path = getenv("CLOCK");
    long seconds = 0;
    if (result == 0 && clock == CLOCK_REALTIME && path) {
        FILE *file = fopen(path, "r");
        if (file) {
            if (fscanf(file, "%ld", &seconds) == 1)
                now->tv_sec += seconds;
            fclose(file);
        }
    }
    return result;
}
