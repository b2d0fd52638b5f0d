/*
 * Calls that do not compile here, each group with what to use instead.
 *
 * Included on the compiler's command line ahead of every file, so it cannot be forgotten. The
 * system headers come first, so that their own declarations are left alone; only calls are caught,
 * a struct member of the same name is fine.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BANNED(name) sorry_##name##_is_banned_see_base_banned_h

/* No bounds: buf_addf() or snprintf(). */
#undef sprintf
#undef vsprintf
#undef strcpy
#undef strcat
#undef stpcpy
#undef gets
#define sprintf(...) BANNED(sprintf)
#define vsprintf(...) BANNED(vsprintf)
#define strcpy(...) BANNED(strcpy)
#define strcat(...) BANNED(strcat)
#define stpcpy(...) BANNED(stpcpy)
#define gets(...) BANNED(gets)

/* Silent truncation, no terminator: mem_dup() or buf. */
#undef strncpy
#undef strncat
#define strncpy(...) BANNED(strncpy)
#define strncat(...) BANNED(strncat)

/* Hidden static state, unsafe with threads: str_cut(), clock.h. */
#undef strtok
#undef localtime
#undef gmtime
#undef ctime
#undef asctime
#undef tmpnam
#undef mktemp
#define strtok(...) BANNED(strtok)
#define localtime(...) BANNED(localtime)
#define gmtime(...) BANNED(gmtime)
#define ctime(...) BANNED(ctime)
#define asctime(...) BANNED(asctime)
#define tmpnam(...) BANNED(tmpnam)
#define mktemp(...) BANNED(mktemp)

/* It cannot report errors: use str_to_i64(). */
#undef atoi
#undef atol
#undef atoll
#define atoi(...) BANNED(atoi)
#define atol(...) BANNED(atol)
#define atoll(...) BANNED(atoll)

/* The shell, the directory and the environment belong to children: proc.h. */
#undef system
#undef popen
#undef chdir
#undef fchdir
#undef setenv
#undef unsetenv
#undef putenv
#undef vfork
#define system(...) BANNED(system)
#define popen(...) BANNED(popen)
#define chdir(...) BANNED(chdir)
#define fchdir(...) BANNED(fchdir)
#define setenv(...) BANNED(setenv)
#define unsetenv(...) BANNED(unsetenv)
#define putenv(...) BANNED(putenv)
#define vfork(...) BANNED(vfork)
