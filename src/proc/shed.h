/*
 * Memory that a forked process inherits and never looks at, given back.
 *
 * A copy of tenax has its two hundred mappings: libraries, stacks and heaps of other threads. Every
 * process that is made from it copies them once more, which takes longer than everything else about
 * it. shed_memory() unmaps all but the program, the C library, the caller's stack and what the
 * kernel put there. Nothing may be called afterwards that is not in these two, or that allocates.
 *
 * Plain system calls only; the caller's process must have no other thread.
 */
#pragma once

/* Does nothing where it cannot be sure (libraries are preloaded), nor a second time, in copies of
 * the process neither. */
void shed_memory(void);
