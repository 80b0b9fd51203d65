# Prints a number made of results that CPUs of different makers compute differently: reciprocals, roots and x87's functions.
        .macro  TAKE reg
        xor     \reg, %r15
        rol     $7, %r15
        imul    %r14, %r15
        .endm

# Takes up the last of the x87 stack, all of its bits.
        .macro  TAKEX
        fstpt   number(%rip)
        TAKE    number(%rip)
        movzwl  number+8(%rip), %eax
        TAKE    %rax
        .endm

        .text
        .globl  _start
        .type   _start, @function
_start:
        mov     $0xcbf29ce484222325, %r15
        mov     $0x100000001b3, %r14
        lea     values(%rip), %rsi
1:      .irp    op, rcpss, rsqrtss, rcpps, rsqrtps
        movups  (%rsi), %xmm1
        \op     %xmm1, %xmm0
        movq    %xmm0, %rax
        TAKE    %rax
        .endr
        .irp    op, fsin, fcos, f2xm1, fsqrt
        fldl    (%rsi)
        \op
        TAKEX
        .endr
        .irp    op, fpatan, fyl2x, fyl2xp1, fprem, fprem1, fscale
        fldl    8(%rsi)
        fldl    (%rsi)
        \op
        TAKEX
        fninit
        .endr
        fldl    (%rsi)
        fptan
        TAKEX
        TAKEX
        fldl    (%rsi)
        fsincos
        TAKEX
        TAKEX
        .irp    op, fldpi, fldl2e, fldln2, fldlg2, fldl2t
        \op
        TAKEX
        .endr
        add     $16, %rsi
        lea     end(%rip), %rax
        cmp     %rax, %rsi
        jb      1b
        call    print
        xor     %edi, %edi
        mov     $60, %eax
        syscall
        .size   _start, .-_start

        .type   print, @function
print:
        lea     number(%rip), %rsi
        mov     $16, %ecx
4:      rol     $4, %r15
        mov     %r15d, %eax
        and     $15, %eax
        lea     digits(%rip), %rdi
        mov     (%rdi,%rax), %al
        mov     %al, (%rsi)
        inc     %rsi
        dec     %ecx
        jnz     4b
        movb    $10, (%rsi)
        lea     number(%rip), %rsi
        mov     $17, %edx
        mov     $1, %edi
        mov     $1, %eax
        syscall
        ret
        .size   print, .-print

        .data
digits: .ascii  "0123456789abcdef"
        .balign 16
values: .double 0.5, 0.25, 0.1, 3.0, 0.7071, 2.5, 0.0001, 1.0, 0.999, 1e10, 0.3333, 0.7
end:
number: .skip   32
