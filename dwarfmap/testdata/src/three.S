# Symbols that nest, overlap, have no size, are data in text.
	.text
	.globl three
	.type three, @function
three:
	mov %edi, %eax
	call nested
	call unsized
	call outer
	call duplicate_long
	ret
	.size three, . - three

	.type outer, @function
	.type inner, @function
outer:
	nop
	nop
inner:
	nop
	.size inner, . - inner
	nop
	ret
	.size outer, . - outer

	.type nested, @function
	.type head, @object
nested:
head:
	nop
	.size head, . - head
	nop
	ret
	.size nested, . - nested

unsized:
	nop
	ret

	.type duplicate_long, @function
	.type dup_b, @function
	.type dup_a, @function
duplicate_long:
dup_b:
dup_a:
	nop
	ret
	.size duplicate_long, . - duplicate_long
	.size dup_b, . - dup_b
	.size dup_a, . - dup_a

	.section .note.GNU-stack, "", @progbits
