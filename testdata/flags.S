# Prints a number made of what integer instructions leave, in registers and in the flags that the manuals define: those
# that they do not define differ from CPU to CPU.
        .set    CF, 0x001
        .set    PF, 0x004
        .set    AF, 0x010
        .set    ZF, 0x040
        .set    SF, 0x080
        .set    OF, 0x800
        .set    ALL, CF|PF|AF|ZF|SF|OF

# Takes up a register.
        .macro  TAKE reg
        xor     \reg, %r15
        rol     $7, %r15
        imul    %r14, %r15
        .endm

# Takes up flags.
        .macro  FLAGS mask
        pushfq
        pop     %r13
        and     $\mask, %r13d
        TAKE    %r13
        .endm

# An instruction of two operands, in four widths.
        .macro  BINARY op, mask
        mov     %rbx, %rax
        \op     %cl, %al
        FLAGS   \mask
        TAKE    %rax
        mov     %rbx, %rax
        \op     %cx, %ax
        FLAGS   \mask
        TAKE    %rax
        mov     %rbx, %rax
        \op     %ecx, %eax
        FLAGS   \mask
        TAKE    %rax
        mov     %rbx, %rax
        \op     %rcx, %rax
        FLAGS   \mask
        TAKE    %rax
        .endm

# One of one operand.
        .macro  UNARY op, mask
        mov     %rbx, %rax
        \op     %al
        FLAGS   \mask
        TAKE    %rax
        mov     %rbx, %rax
        \op     %ax
        FLAGS   \mask
        TAKE    %rax
        mov     %rbx, %rax
        \op     %eax
        FLAGS   \mask
        TAKE    %rax
        mov     %rbx, %rax
        \op     %rax
        FLAGS   \mask
        TAKE    %rax
        .endm

# A product of RAX and RCX.
        .macro  PRODUCT op, reg
        mov     %rbx, %rax
        xor     %edx, %edx
        \op     \reg
        FLAGS   CF|OF
        TAKE    %rax
        TAKE    %rdx
        .endm

# A shift by 1, and by a number from 2 to 31.
        .macro  SHIFT op, one, more
        mov     %rbx, %rax
        \op     $1, %rax
        FLAGS   \one
        TAKE    %rax
        mov     %rbx, %rax
        push    %rcx
        and     $29, %ecx
        or      $2, %ecx
        \op     %cl, %eax
        FLAGS   \more
        TAKE    %rax
        mov     %rbx, %rax
        \op     %cl, %rax
        pop     %rcx
        FLAGS   \more
        TAKE    %rax
        .endm

        .text
        .globl  _start
        .type   _start, @function
_start:
        mov     $0xcbf29ce484222325, %r15
        mov     $0x100000001b3, %r14
        lea     values(%rip), %rsi
outer:
        mov     (%rsi), %rbx
        lea     values(%rip), %rdi
inner:
        mov     (%rdi), %rcx
        call    pair
        add     $8, %rdi
        lea     end(%rip), %rax
        cmp     %rax, %rdi
        jb      inner
        add     $8, %rsi
        cmp     %rax, %rsi
        jb      outer
        call    strings
        call    print
        xor     %edi, %edi
        mov     $60, %eax
        syscall
        .size   _start, .-_start

        .type   pair, @function
pair:
        BINARY  add, ALL
        BINARY  sub, ALL
        BINARY  cmp, ALL
        stc
        BINARY  adc, ALL
        clc
        BINARY  sbb, ALL
        BINARY  and, ALL&~AF
        BINARY  or, ALL&~AF
        BINARY  xor, ALL&~AF
        BINARY  test, ALL&~AF
        UNARY   inc, ALL&~CF
        UNARY   dec, ALL&~CF
        UNARY   neg, ALL
        UNARY   not, 0
        PRODUCT mul, %cl
        PRODUCT mul, %cx
        PRODUCT mul, %ecx
        PRODUCT mul, %rcx
        PRODUCT imul, %cl
        PRODUCT imul, %ecx
        PRODUCT imul, %rcx
        mov     %rbx, %rax
        imul    %rcx, %rax
        FLAGS   CF|OF
        TAKE    %rax
        imul    $-77, %rbx, %rax
        FLAGS   CF|OF
        TAKE    %rax
        SHIFT   shl, ALL&~AF, CF|PF|ZF|SF
        SHIFT   shr, ALL&~AF, CF|PF|ZF|SF
        SHIFT   sar, ALL&~AF, CF|PF|ZF|SF
        SHIFT   rol, CF|OF, CF
        SHIFT   ror, CF|OF, CF
        SHIFT   rcl, CF|OF, CF
        SHIFT   rcr, CF|OF, CF
        mov     %rbx, %rax
        shld    $13, %rcx, %rax
        FLAGS   CF|PF|ZF|SF
        TAKE    %rax
        shrd    $1, %ecx, %eax
        FLAGS   ALL&~AF
        TAKE    %rax
        .irp    op, bt, bts, btr, btc
        mov     %rbx, %rax
        \op     %rcx, %rax
        FLAGS   CF
        TAKE    %rax
        .endr
        test    %rcx, %rcx
        jz      1f
        bsf     %rcx, %rax
        FLAGS   ZF
        TAKE    %rax
        bsr     %rcx, %rax
        FLAGS   ZF
        TAKE    %rax
        mov     %rbx, %rax
        xor     %edx, %edx
        div     %rcx
        TAKE    %rax
        TAKE    %rdx
1:      mov     %rbx, %rax
        cmp     %rcx, %rbx
        .irp    cc, a, ae, b, be, e, g, ge, l, le, ne, no, np, ns, o, p, s
        set\cc  %al
        TAKE    %rax
        cmp     %rcx, %rbx
        cmov\cc %rcx, %rax
        TAKE    %rax
        cmp     %rcx, %rbx
        j\cc    2f
        TAKE    %rbx
2:      cmp     %rcx, %rbx
        .endr
        mov     %rbx, %rax
        mov     %rcx, %rdx
        xadd    %rdx, %rax
        FLAGS   ALL
        TAKE    %rax
        TAKE    %rdx
        lock cmpxchg %rcx, word(%rip)
        FLAGS   ALL
        TAKE    %rax
        TAKE    word(%rip)
        bswap   %rax
        cqto
        TAKE    %rax
        TAKE    %rdx
        add     %rbx, %rcx
        FLAGS   ALL
        TAKE    %rcx
        ret
        .size   pair, .-pair

        .type   strings, @function
strings:
        lea     values(%rip), %rsi
        lea     buffer(%rip), %rdi
        mov     $64, %ecx
        rep movsb
        lea     buffer(%rip), %rdi
        mov     $64, %ecx
        mov     $0x7f, %al
        repne scasb
        FLAGS   ALL
        TAKE    %rcx
        lea     values(%rip), %rsi
        lea     buffer(%rip), %rdi
        mov     $100, %ecx
        repe cmpsb
        FLAGS   ALL
        TAKE    %rcx
        std
        mov     $3, %ecx
        rep lodsw
        cld
        TAKE    %rax
        TAKE    %rsi
        mov     $9, %ecx
3:      TAKE    %rcx
        loop    3b
        ret
        .size   strings, .-strings

        .type   print, @function
print:
        lea     buffer(%rip), %rsi
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
        lea     buffer(%rip), %rsi
        mov     $17, %edx
        mov     $1, %edi
        mov     $1, %eax
        syscall
        ret
        .size   print, .-print

        .data
digits: .ascii  "0123456789abcdef"
        .balign 8
word:   .quad   1
values: .quad   0, 1, 2, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xffffffff
        .quad   0x100000000, 0x123456789abcdef0, 0x7fffffffffffffff, 0x8000000000000000, 0xfedcba9876543210, -2, -1
end:
buffer: .skip   128
