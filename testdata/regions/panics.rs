// Leaves functions by panics.
use std::hint::black_box;
use std::panic;

#[inline(never)]
fn thrower(n: u32) {
    if n == 0 {
        panic::resume_unwind(Box::new(7));
    }
    thrower(n - 1);
    black_box(n);
}

#[inline(never)]
fn other() {
    for i in 0..1000 {
        black_box(i);
    }
}

fn main() {
    for i in 0..3 {
        let r = panic::catch_unwind(|| thrower(i));
        other();
        assert!(r.is_err());
    }
}
