//! cgemu.rs: what a program says to cgemu, so that only a part of it is counted.
//!
//! Copyright (c) 2026 The cgemu authors. MIT licence, as in cgemu.h.
//!
//! A module to be copied beside a program's: `mod cgemu;`. It needs no crate, not even
//! `std`. On other targets than x86-64 Linux the functions are nothing.
//!
//! ```text
//! cgemu::start();
//! work();
//! cgemu::stop();
//! ```
//!
//! with `cgemu --instr-at-start=no ./program`. A request is one instruction, of 19 bytes:
//! that of `start` is not counted itself, that of `stop` is, and so are the instructions in front
//! of it that write its code and arguments to the stack. (See cgemu.h.)
#![allow(dead_code)]

#[cfg(all(target_arch = "x86_64", target_os = "linux", target_pointer_width = "64"))]
#[inline(always)]
fn request(code: u64, args: [u64; 2]) -> u64 {
    let words: [u64; 6] = [code, args[0], args[1], 0, 0, 0];
    let mut result: u64 = 0;
    // SAFETY: four rotations by 128 bits in all, and an exchange of a register with itself.
    unsafe {
        core::arch::asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") words.as_ptr(),
            inout("rdx") result,
            options(nostack),
        );
    }
    result
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux", target_pointer_width = "64")))]
#[inline(always)]
fn request(_code: u64, _args: [u64; 2]) -> u64 {
    0
}

const BASE: u64 = ((b'C' as u64) << 24) + ((b'E' as u64) << 16);

/// Counts from here on, and simulates caches and branches if asked to.
#[inline(always)]
pub fn start() {
    request(BASE, [0, 0]);
}

/// Neither counts nor simulates from here on.
#[inline(always)]
pub fn stop() {
    request(BASE + 1, [0, 0]);
}

/// Forgets what was counted so far.
#[inline(always)]
pub fn zero() {
    request(BASE + 2, [0, 0]);
}

/// Writes what was counted so far to a file of its own, and forgets it.
#[inline(always)]
pub fn dump() {
    request(BASE + 3, [0, 0]);
}

/// The same; the file says why, in a line.
#[inline(always)]
pub fn dump_at(name: &str) {
    // A length of 0 would mean that a NUL ends it.
    let text = if name.is_empty() { " " } else { name };
    request(BASE + 4, [text.as_ptr() as u64, text.len() as u64]);
}

/// Stops counting, or counts again; caches and branches are simulated all the time.
#[inline(always)]
pub fn toggle() {
    request(BASE + 5, [0, 0]);
}

/// Says whether the program runs under cgemu.
#[inline(always)]
pub fn running() -> bool {
    request(BASE + 6, [0, 0]) != 0
}
