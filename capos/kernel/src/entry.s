// The ways into the kernel and out of it. What a program's registers were is put where its thread keeps
// them: at a system call by hand, at an interrupt by the processor, whose stack for it is the end of the
// same place. Layout: arch/context.rs. GS leads to the processor's own structure (cpu.rs) while the
// kernel runs: its offset 8 is scratch, 16 the end of the running thread's registers, 24 the kernel's
// stack.
.section .text
.globl syscall_entry
syscall_entry:
    swapgs
    mov gs:[8], rsp
    mov rsp, gs:[16]
    push 0x1b
    push qword ptr gs:[8]
    push r11
    push 0x23
    push rcx
    push 0
    push 0x100
    push rax
    push rcx
    push rdx
    push rbx
    push rbp
    push rsi
    push rdi
    push r8
    push r9
    push r10
    push r11
    push r12
    push r13
    push r14
    push r15
    mov rdi, rsp
    mov rsp, gs:[24]
    xor ebp, ebp
    call entered_by_syscall
    ud2

.macro bare number
.globl vector_\number
vector_\number:
    push 0
    push \number
    jmp entered
.endm
.macro coded number
.globl vector_\number
vector_\number:
    push \number
    jmp entered
.endm
bare 0
bare 1
bare 2
bare 3
bare 4
bare 5
bare 6
bare 7
coded 8
bare 9
coded 10
coded 11
coded 12
coded 13
coded 14
bare 15
bare 16
coded 17
bare 18
bare 19
bare 20
coded 21
bare 64
bare 65
bare 66
bare 255

entered:
    cld
    // A program's flag by which the kernel might touch its pages (AC) is not the kernel's.
    push 2
    popfq
    test byte ptr [rsp + 24], 3
    jz 1f
    swapgs
1:  push rax
    push rcx
    push rdx
    push rbx
    push rbp
    push rsi
    push rdi
    push r8
    push r9
    push r10
    push r11
    push r12
    push r13
    push r14
    push r15
    mov rdi, rsp
    test byte ptr [rsp + 144], 3
    jz 2f
    mov rsp, gs:[24]
    xor ebp, ebp
    call entered_by_interrupt
    ud2
    // The kernel itself was interrupted: it waited for that, or it has a fault.
2:  mov rbp, rsp
    and rsp, -16
    call interrupted
    mov rsp, rbp
    pop r15
    pop r14
    pop r13
    pop r12
    pop r11
    pop r10
    pop r9
    pop r8
    pop rdi
    pop rsi
    pop rbp
    pop rbx
    pop rdx
    pop rcx
    pop rax
    add rsp, 16
    iretq

// Goes on with a program. rdi: its registers.
.globl resume
resume:
    mov rsp, rdi
    cmp qword ptr [rsp + 120], 0x100
    pop r15
    pop r14
    pop r13
    pop r12
    pop r11
    pop r10
    pop r9
    pop r8
    pop rdi
    pop rsi
    pop rbp
    pop rbx
    pop rdx
    pop rcx
    pop rax
    jne 3f
    mov rcx, [rsp + 16]
    mov r11, [rsp + 32]
    mov rsp, [rsp + 40]
    swapgs
    sysretq
3:  add rsp, 16
    swapgs
    iretq

// Waits for an interrupt, with nothing of the caller's on the stack that it would need.
.globl wait_for_interrupt
wait_for_interrupt:
    sti
    hlt
    cli
    ret
