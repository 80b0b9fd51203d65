# Asks for two dumps and forgets a part: 8, 13 and 4 instructions. Each request takes three.
        .macro  REQ code, arg=0
        .pushsection .data
        .balign 8
words\@: .quad  \code, \arg, 0, 0, 0, 0
        .popsection
        lea     words\@(%rip), %rax
        xor     %edx, %edx
        rolq    $3, %rdi
        rolq    $13, %rdi
        rolq    $61, %rdi
        rolq    $51, %rdi
        xchgq   %rbx, %rbx
        .endm
        .text
        .globl  _start
        .type   _start, @function
_start:
        .rept   5; nop; .endr
        REQ     0x43450003              # dump
        .rept   10; nop; .endr
        REQ     0x43540003, name        # Callgrind's, with a name
        .rept   20; nop; .endr
        REQ     0x43450002              # zero
        .rept   1; nop; .endr
        xor     %edi, %edi
        mov     $60, %eax
        syscall
        .size   _start, .-_start
        .data
name:   .asciz  "half way"
