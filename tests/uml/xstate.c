/*
 * A shim for User-Mode Linux 6.1 on processors with AMX, loaded by boot.sh (LD_PRELOAD) where it is needed.
 *
 * UML saves and restores the vector registers of its guest's processes by PTRACE_GETREGSET and PTRACE_SETREGSET with
 * NT_X86_XSTATE and a buffer of fixed size. The host's kernel cuts what it hands out to that size, but takes only the
 * whole state back (EFAULT otherwise), and with AMX the whole is more than UML's buffer: UML panics with "ptrace set fp
 * regs failed". Here a state that is too short is completed from what the process has now, which concerns only the
 * components behind UML's buffer: AMX tiles and protection keys, which nothing in the guest uses.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>

/* The whole state with AMX is 11,008 octets; UML is one thread. */
static _Alignas(64) uint8_t whole[65536];

typedef long ptrace_function(int request, pid_t process, void *address, void *data);

long ptrace(enum __ptrace_request request, ...)
{
    static ptrace_function *next;
    va_list arguments;
    va_start(arguments, request);
    pid_t process = va_arg(arguments, pid_t);
    void *address = va_arg(arguments, void *);
    void *data = va_arg(arguments, void *);
    va_end(arguments);
    if (next == NULL)
        next = (ptrace_function *)dlsym(RTLD_NEXT, "ptrace");
    long result = next(request, process, address, data);
    if (result == 0 || errno != EFAULT || request != PTRACE_SETREGSET || (uintptr_t)address != NT_X86_XSTATE)
        return result;
    struct iovec *given = data;
    struct iovec all = {whole, sizeof whole};
    if (next(PTRACE_GETREGSET, process, address, &all) != 0 || given->iov_len > all.iov_len)
        return result;
    memcpy(whole, given->iov_base, given->iov_len);
    return next(PTRACE_SETREGSET, process, address, &all);
}
