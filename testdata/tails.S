# Jumps in place of returns, through words and registers, one behind the other, for the call graph.

.macro FN name
.globl \name
.type \name,@function
\name:
.endm
.macro END name
.size \name,.-\name
.endm

.text
FN _start
	mov	$40, %ebx
1:	call	through
	call	chain
	mov	$5, %esi
	call	one
	call	carry
	call	moved
	test	$7, %bl
	jnz	2f
	mov	word(%rip), %rax	# through now leads elsewhere
	xchg	%rax, other(%rip)
	mov	%rax, word(%rip)
2:	dec	%ebx
	jnz	1b
	jmp	*to_before(%rip)	# not in place of a return: nothing called this
END _start

FN through
	jmp	*word(%rip)
END through
FN leaf
	nop
	ret
END leaf
FN leaf2
	nop
	nop
	ret
END leaf2

# Five jumps in a row: through words, by a register, direct.
FN chain
	jmp	*to_second(%rip)
END chain
FN second
	lea	third(%rip), %rax
	jmp	*%rax
END second
FN third
	jmp	*to_fourth(%rip)
END third
FN fourth
	jmp	fifth
END fourth
FN fifth
	lea	to_leaf(%rip), %rax
	jmp	*(%rax)
END fifth

# Two that jump to each other: each goes back to the one that is active.
FN one
	dec	%esi
	jz	3f
	jmp	*to_two(%rip)
3:	ret
END one
FN two
	jmp	*to_one(%rip)
END two

# The target looks at the flags of the jump.
FN carry
	cmp	$20, %ebx
	jmp	*to_carried(%rip)
END carry
FN carried
	jc	4f
	ret
4:	jmp	*to_leaf(%rip)
END carried

# RSP is not at the return address when the jump comes.
FN moved
	push	%rbx
	jmp	*to_pop(%rip)
END moved
FN pops
	pop	%rbx
	jmp	*to_leaf(%rip)
END pops

FN before
	jmp	*to_last(%rip)
END before
FN last
	call	through
	mov	$60, %eax
	xor	%edi, %edi
	syscall
END last

.data
word:		.quad leaf
other:		.quad leaf2
to_second:	.quad second
to_fourth:	.quad fourth
to_leaf:	.quad leaf
to_one:		.quad one
to_two:		.quad two
to_carried:	.quad carried
to_pop:		.quad pops
to_before:	.quad before
to_last:	.quad last
