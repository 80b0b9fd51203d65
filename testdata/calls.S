# Ways from one function into another, for the call graph (callgraph_test.go): each is entered from _start.

.macro FN name
.globl \name
.type \name,@function
\name:
.endm
.macro END name
.size \name,.-\name
.endm

.data
.quad 1
.text

FN _start
	call	tail
	call	middle
	call	conditional
	call	hot
	call	falls
	call	position
	call	pushes
	call	unnamed
	call	twice
	call	set
	call	recursion
	xor	%ecx, %ecx
	call	even
	mov	$4, %ecx
	call	even
	call	chain
	call	targets
	call	popped
	call	local
	call	local
	call	linkage
	mov	$60, %eax
	xor	%edi, %edi
	syscall
END _start

# A tail call, and what is called everywhere.
FN tail
	nop
	jmp	leaf
END tail
FN leaf
	nop
	ret
END leaf

# A jump into the middle of a function.
FN middle
	nop
	jmp	1f
END middle
FN entered
	nop
1:	call	leaf
	ret
END entered

# A conditional tail call.
FN conditional
	xor	%eax, %eax
	jz	leaf
	ret
END conditional

# A function in two parts, with a jump back.
FN hot
	xor	%eax, %eax
	jz	hot.cold
1:	nop
	ret
END hot
FN hot.cold
	call	leaf
	jmp	1b
END hot.cold

# A function that goes on into the next one.
FN falls
	nop
END falls
FN through
	call	leaf
	ret
END through

# A CALL for the instruction pointer.
FN position
	call	1f
1:	pop	%rax
	ret
END position

# A RET that is a jump.
FN pushes
	lea	leaf(%rip), %rax
	push	%rax
	ret
END pushes

# Code without a name.
unnamed:
	call	leaf
	ret

FN twice
	call	tail
	jmp	tail
END twice

# A jump out of functions, as longjmp does.
FN set
	push	%rbx
	mov	%rsp, %rbx
	lea	1f(%rip), %rbp
	call	outer
	nop
1:	pop	%rbx
	ret
END set
FN outer
	call	inner
	ret
END outer
FN inner
	call	jumps
	ret
END inner
FN jumps
	nop
	mov	%rbx, %rsp
	jmp	*%rbp
END jumps

# Recursion, at once and by another function.
FN recursion
	mov	$5, %ecx
	call	itself
	mov	$3, %ecx
	call	first
	ret
END recursion
FN itself
	dec	%ecx
	js	1f
	call	itself
1:	ret
END itself
FN first
	dec	%ecx
	js	1f
	call	second
1:	ret
END first
FN second
	nop
	call	first
	ret
END second

# Recursion by tail calls.
FN even
	dec	%ecx
	jle	1f
	jmp	odd
1:	ret
END even
FN odd
	dec	%ecx
	jle	1f
	jmp	even
1:	ret
END odd

# A tail call behind a tail call.
FN chain
	push	%rbx
	call	link1
	pop	%rbx
	ret
END chain
FN link1
	nop
	jmp	link2
END link1
FN link2
	call	leaf
	jmp	link3
END link2
FN link3
	nop
	jmp	leaf
END link3

# One place that calls several functions, and jumps to several, with all status flags and registers in use.
FN targets
	push	%rbx
	mov	$6, %ebx
1:	lea	tail(%rip), %rax
	lea	leaf(%rip), %rcx
	test	$1, %bl
	cmovz	%rcx, %rax
	stc
	call	*%rax
	jnc	2f
	lea	leaf(%rip), %rdx
	cmp	%rdx, %rcx
	jne	2f
	lea	jumping(%rip), %rcx
	call	*%rcx
	jnc	2f
	add	%rdx, %rcx
	add	%r10, %rcx
	add	%r11, %rcx
	cmp	$10, %rcx
	jne	2f
	dec	%ebx
	jnz	1b
2:	pop	%rbx
	ret
END targets
FN jumping
	mov	$1, %ecx
	mov	$2, %edx
	mov	$3, %r10d
	mov	$4, %r11d
	cmp	$3, %ebx
	stc
	jmp	*%rax
END jumping

# A return address that is taken away.
FN popped
	call	takes
	ret
END popped
FN takes
	pop	%rax
	call	leaf
	jmp	*%rax
END takes

# A call of a place in the function itself that takes the return address away, and an indirect jump there.
FN local
	call	1f
	call	leaf
	ret
1:	pop	%rax
	jmp	*%rax
END local

# Calls through words: of entries of a linkage table, one of which leads back into it first, and without one. Two of the words change.
FN linkage
	push	%rbx
	mov	$3, %ebx
1:	call	entry
	call	lazy
	call	moving
	call	*word(%rip)
	call	*moved(%rip)
	cmp	$2, %ebx
	jne	2f
	lea	tail(%rip), %rax
	mov	%rax, moved(%rip)
2:	dec	%ebx
	jnz	1b
	pop	%rbx
	jmp	lazy
END linkage

.data
word:	.quad	leaf
unbound: .quad	resolve
moved:	.quad	conditional

.section .plt, "ax", @progbits
	.balign	4096
entry:	endbr64
	bnd jmp	*word(%rip)
lazy:	jmp	*unbound(%rip)
resolve:
	lea	leaf(%rip), %r11
	mov	%r11, unbound(%rip)
	jmp	*unbound(%rip)
moving:	jmp	*moved(%rip)
	.balign	4096
