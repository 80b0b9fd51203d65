# Jumps within functions, of each kind. Rebuild: make -C testdata jumps. TestCollectJumpsKinds has what they count.
	.macro	FN name
	.globl	\name
	.type	\name, @function
\name:
	.endm
	.macro	END name
	.size	\name, . - \name
	.endm

	.text
FN _start
	call	direct
	call	conditional
	call	loops
	call	switch
	call	flags
	call	words
	mov	$7, %ecx
	call	again
	call	leaves
	mov	$60, %eax
	xor	%edi, %edi
	syscall
END _start

FN direct
	jmp	1f
	ud2
1:	jmp	2f
	ud2
2:	ret
END direct

# One that is always taken, one that never is, one back, and two on one line.
FN conditional
	mov	$10, %ecx
1:	test	%ecx, %ecx
	js	9f
	cmp	$3, %ecx
	jg	2f
	nop
2:	cmp	$5, %ecx; je 3f; cmp $6, %ecx; je 3f
	nop
3:	dec	%ecx
	jnz	1b
	jmp	4f
9:	ud2
4:	ret
END conditional

FN loops
	mov	$4, %ecx
1:	loop	1b
	jrcxz	2f
	ud2
2:	ret
END loops

# More targets than are remembered at one place.
FN switch
	mov	$1000, %ecx
1:	mov	%ecx, %eax
	and	$7, %eax
	lea	table(%rip), %rdx
	jmp	*(%rdx,%rax,8)
c0:	nop
c1:	nop
c2:	nop
c3:	nop
c4:	nop
c5:	nop
c6:	nop
c7:	dec	%ecx
	jnz	1b
	ret
END switch

# All status flags and the registers that engines like to use live across an indirect jump.
FN flags
	mov	$300, %ebx
1:	lea	2f(%rip), %rax
	lea	3f(%rip), %r8
	test	$1, %bl
	cmovnz	%r8, %rax
	mov	$0x11, %ecx
	mov	$0x22, %edx
	mov	$0x33, %r10d
	mov	$0x44, %r11d
	mov	$0xd5, %ah
	mov	%rax, %r9
	lea	2f(%rip), %r9
	test	$1, %bl
	cmovnz	%r8, %r9
	mov	$0x7f, %al
	add	$1, %al
	stc
	jmp	*%r9
2:	jnc	9f
	jno	9f
	jmp	4f
3:	jnc	9f
	jno	9f
4:	cmp	$0x11, %ecx
	jne	9f
	cmp	$0x22, %edx
	jne	9f
	cmp	$0x33, %r10d
	jne	9f
	cmp	$0x44, %r11d
	jne	9f
	dec	%ebx
	jnz	1b
	ret
9:	ud2
END flags

# Through words at fixed addresses, which change, and lead near.
FN words
	mov	$20, %ecx
1:	lea	2f(%rip), %rax
	cmp	$10, %ecx
	ja	5f
	lea	3f(%rip), %rax
5:	mov	%rax, word(%rip)
	jmp	*word(%rip)
2:	nop
3:	dec	%ecx
	jnz	1b
	ret
END words

# To where the function itself begins: by a register and directly.
FN again
	dec	%ecx
	jz	1f
	test	$1, %cl
	jz	again
	lea	again(%rip), %rax
	jmp	*%rax
1:	ret
END again

# Not within a function.
FN leaves
	lea	other(%rip), %rax
	mov	$1, %ecx
	test	%ecx, %ecx
	jnz	1f
	jmp	other
1:	jmp	*%rax
END leaves

FN other
	ret
END other

	.data
word:	.quad	0
table:	.quad	c0, c1, c2, c3, c4, c5, c6, c7
