# Stacks that share a mapping, and returns into other functions, for the call graph (callgraph_stacks_test.go).

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
	call	ends
	call	near
	mov	$3, %ebx
1:	call	coroutines
	dec	%ebx
	jnz	1b
	mov	$60, %eax
	xor	%edi, %edi
	syscall
END _start

# A function that ends with a CALL, and goes on into the next one behind it.
FN ends
	push	%rbx
	call	leaf
END ends
FN next
	pop	%rbx
	call	leaf
	ret
END next
FN leaf
	nop
	ret
END leaf

# A CALL behind which the callee returns, but not to there: into a function that begins within an instruction's length.
FN near
	push	%rbx
	call	elsewhere
	ud2
END near
FN neighbour
	push	%rbx
1:	pop	%rbx
	ret
END neighbour
FN elsewhere
	lea	1b(%rip), %rax
	mov	%rax, (%rsp)
	ret
END elsewhere

# Three coroutines on stacks beside each other, in this order in memory: 2, 1, 3. The first one begins the second, a
# return and a jump change stacks by turns, and all begin anew each time.
FN coroutines
	push	%rbp
	push	%rbx
	lea	stack1+4096(%rip), %rax
	lea	body1(%rip), %rcx
	call	make
	mov	%rax, saved1(%rip)
	lea	stack2+4096(%rip), %rax
	lea	body2(%rip), %rcx
	call	make
	mov	%rax, saved2(%rip)
	lea	stack3+4096(%rip), %rax
	lea	body3(%rip), %rcx
	call	make
	mov	%rax, saved3(%rip)
	lea	saved0(%rip), %rdi
	mov	saved1(%rip), %rsi
	call	swap
	lea	saved0(%rip), %rdi
	mov	saved3(%rip), %rsi
	call	swapjump
	lea	saved0(%rip), %rdi
	mov	saved2(%rip), %rsi
	call	swapjump
	lea	saved0(%rip), %rdi
	mov	saved1(%rip), %rsi
	call	swap
	pop	%rbx
	pop	%rbp
	ret
END coroutines
FN make
	mov	%rcx, -8(%rax)
	sub	$8, %rax
	ret
END make
FN swap
	mov	%rsp, (%rdi)
	mov	%rsi, %rsp
	ret
END swap
FN swapjump
	mov	%rsp, (%rdi)
	mov	%rsi, %rsp
	pop	%rax
	jmp	*%rax
END swapjump
FN body1
	call	inner1
	lea	saved1(%rip), %rdi
	mov	saved0(%rip), %rsi
	call	swap
	ud2
END body1
FN inner1
	lea	saved1(%rip), %rdi
	mov	saved2(%rip), %rsi
	call	swapjump
	call	leaf
	ret
END inner1
FN body2
	call	inner2
	call	leaf
	lea	saved2(%rip), %rdi
	mov	saved0(%rip), %rsi
	call	swap
	ud2
END body2
FN inner2
	lea	saved2(%rip), %rdi
	mov	saved0(%rip), %rsi
	call	swapjump
	call	leaf
	call	leaf
	ret
END inner2
FN body3
	call	leaf
	lea	saved3(%rip), %rdi
	mov	saved0(%rip), %rsi
	call	swap
	ud2
END body3

.bss
saved0:	.skip	8
saved1:	.skip	8
saved2:	.skip	8
saved3:	.skip	8
	.balign	16
stack2:	.skip	4096
stack1:	.skip	4096
stack3:	.skip	4096
