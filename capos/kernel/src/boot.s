// From what QEMU's PVH entry leaves (x86/HVM direct boot ABI of Xen: 32 bits, paging off, EBX points to
// the start information) to 64 bits with the first page tables, for the first processor and the others.
.section .note.pvh, "a", @note
    .long 4, 4, 18
    .asciz "Xen"
    .long pvh_start

.section .boot, "awx"
.code32
.globl pvh_start
pvh_start:
    cld
    mov boot_start_info, ebx
    mov esp, offset boot_stack_top
    // 4 GiB in pages of 2 MiB.
    mov edi, offset boot_directories
    mov eax, 0x83
    mov ecx, 2048
1:  mov [edi], eax
    mov dword ptr [edi + 4], 0
    add eax, 0x200000
    add edi, 8
    loop 1b
    // They appear where they are, at the direct map and, the first of them, where the kernel is linked.
    mov edi, offset boot_pointers
    mov eax, offset boot_directories + 3
    mov ecx, 4
2:  mov [edi], eax
    add eax, 4096
    add edi, 8
    loop 2b
    mov dword ptr [boot_top], offset boot_pointers + 3
    mov dword ptr [boot_top + 2048], offset boot_pointers + 3
    mov dword ptr [boot_top + 4088], offset boot_kernel_pointers + 3
    mov dword ptr [boot_kernel_pointers + 4080], offset boot_directories + 3
    mov eax, offset boot_top
    mov cr3, eax
    call enable_long
    lgdt [boot_gdt_pointer]
    // A far jump: segment 8.
    .byte 0xea
    .long start64
    .word 8

enable_long:
    // CR4: PAE, OSFXSR, OSXMMEXCPT. EFER: SCE, LME, NXE. CR0: PE, MP, NE, WP, PG; caches on.
    mov eax, cr4
    or eax, 0x620
    mov cr4, eax
    mov ecx, 0xc0000080
    rdmsr
    or eax, 0x901
    wrmsr
    mov eax, cr0
    and eax, 0x9ffffffb
    or eax, 0x80010023
    mov cr0, eax
    ret

.code64
start64:
    xor eax, eax
    mov ds, eax
    mov es, eax
    mov ss, eax
    movabs rsp, offset first_stack_top
    xor ebp, ebp
    mov edi, boot_start_info
    movabs rax, offset kernel_main
    call rax
    ud2

.align 16
boot_gdt:
    .quad 0, 0x00af9a000000ffff, 0x00cf92000000ffff
boot_gdt_pointer:
    .word 23
    .long boot_gdt
boot_start_info:
    .long 0

// What another processor runs first; copied to 0x8000.
.balign 8
.globl trampoline
trampoline:
.code16
    jmp 1f
    .balign 8
    // At 0x8008 and 0x8020, where it is copied to.
    .quad 0, 0x00cf9a000000ffff, 0x00cf92000000ffff
    .word 23
    .long 0x8008
    .balign 8
1:  cli
    cld
    xor ax, ax
    mov ds, ax
    lgdtd [0x8020]
    mov eax, cr0
    or eax, 1
    mov cr0, eax
    .byte 0x66, 0xea
    .long 0x8000 + (trampoline32 - trampoline)
    .word 8
.code32
trampoline32:
    mov ax, 16
    mov ds, ax
    mov ss, ax
    mov esp, offset boot_stack_top
    mov eax, offset boot_top
    mov cr3, eax
    mov eax, offset enable_long
    call eax
    lgdt [boot_gdt_pointer]
    .byte 0xea
    .long other64
    .word 8
.globl trampoline_end
trampoline_end:

.code64
other64:
    xor eax, eax
    mov ds, eax
    mov es, eax
    mov ss, eax
    // One at a time: the first processor has put there what this one is to have.
    movabs rax, offset other_stack
    mov rsp, [rax]
    movabs rax, offset other_number
    mov rdi, [rax]
    xor ebp, ebp
    movabs rax, offset other_main
    call rax
    ud2

.align 4096
.globl boot_top
boot_top: .skip 4096
boot_pointers: .skip 4096
boot_kernel_pointers: .skip 4096
boot_directories: .skip 16384
boot_stack: .skip 4096
boot_stack_top:

.section .bss
.align 16
    .skip 16384
.globl first_stack_top
first_stack_top:
