/*
 * Releases memory that a forked process has inherited but never uses.
 *
 * A copy of tenax has about two hundred mappings: libraries, stacks and heaps of other threads.
 * Every process created from it copies them again, which takes longer than everything else.
 * shed_memory() unmaps everything but the program, the C library, the caller's stack and the
 * kernel's mappings. Afterwards only functions in these two may be called, and none that allocates.
 *
 * Plain system calls only; the caller's process must have no other thread.
 */
#pragma once

/* Does nothing if it is not certain to be safe (preloaded libraries), nor a second time, including
 * in copies of the process. */
void shed_memory(void);
