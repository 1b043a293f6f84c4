#include "textflag.h"

// func dotRowsAVX2(dots *int32, rows *int8, query *int16, groups, stride int)
//
// Four rows at a time, one accumulator each (Y0 to Y3). A step widens 16 int8
// of each row to int16, multiplies them with 16 numbers of the query, and adds
// neighbouring products to eight int32. The two halves of a lane use
// registers of their own, so that they do not wait for each other.
TEXT ·dotRowsAVX2(SB), NOSPLIT, $0-40
	MOVQ dots+0(FP), DI
	MOVQ rows+8(FP), SI
	MOVQ query+16(FP), DX
	MOVQ groups+24(FP), CX
	MOVQ stride+32(FP), R8

group:
	LEAQ  (SI)(R8*1), R9
	LEAQ  (SI)(R8*2), R10
	LEAQ  (R9)(R8*2), R11
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3
	XORQ  AX, AX

step:
	VMOVDQU   (DX)(AX*2), Y8
	VMOVDQU   32(DX)(AX*2), Y9
	VPMOVSXBW (SI)(AX*1), Y4
	VPMOVSXBW (R9)(AX*1), Y5
	VPMOVSXBW (R10)(AX*1), Y6
	VPMOVSXBW (R11)(AX*1), Y7
	VPMADDWD  Y8, Y4, Y4
	VPMADDWD  Y8, Y5, Y5
	VPMADDWD  Y8, Y6, Y6
	VPMADDWD  Y8, Y7, Y7
	VPADDD    Y4, Y0, Y0
	VPADDD    Y5, Y1, Y1
	VPADDD    Y6, Y2, Y2
	VPADDD    Y7, Y3, Y3
	VPMOVSXBW 16(SI)(AX*1), Y10
	VPMOVSXBW 16(R9)(AX*1), Y11
	VPMOVSXBW 16(R10)(AX*1), Y12
	VPMOVSXBW 16(R11)(AX*1), Y13
	VPMADDWD  Y9, Y10, Y10
	VPMADDWD  Y9, Y11, Y11
	VPMADDWD  Y9, Y12, Y12
	VPMADDWD  Y9, Y13, Y13
	VPADDD    Y10, Y0, Y0
	VPADDD    Y11, Y1, Y1
	VPADDD    Y12, Y2, Y2
	VPADDD    Y13, Y3, Y3
	ADDQ      $32, AX
	CMPQ      AX, R8
	JLT       step

	// Four accumulators of eight become four sums.
	VPHADDD      Y1, Y0, Y0
	VPHADDD      Y3, Y2, Y2
	VPHADDD      Y2, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPADDD       X1, X0, X0
	VMOVDQU      X0, (DI)

	ADDQ $16, DI
	LEAQ (SI)(R8*4), SI
	DECQ CX
	JNZ  group
	VZEROUPPER
	RET

// func dotRowsVNNI(dots *int32, rows *int8, query *int8, groups, stride int, excess int32)
//
// Four rows at a time, two accumulators each: Z0 to Z3 for the low parts of the
// query's numbers, Z4 to Z7 for the high ones. A step multiplies 64 bytes of a
// row, made positive by adding 128 (a flip of the sign bit), with 64 parts, and
// adds four products at a time to sixteen int32. What the 128 added is the same
// for every row: excess, which is subtracted at the end.
TEXT ·dotRowsVNNI(SB), NOSPLIT, $0-44
	MOVQ         dots+0(FP), DI
	MOVQ         rows+8(FP), SI
	MOVQ         query+16(FP), DX
	MOVQ         groups+24(FP), CX
	MOVQ         stride+32(FP), R8
	MOVL         excess+40(FP), AX
	VMOVD        AX, X15
	VPBROADCASTD X15, X15
	LEAQ         (DX)(R8*1), BX
	MOVL         $0x80808080, AX
	VPBROADCASTD AX, Z14

rows:
	LEAQ   (SI)(R8*1), R9
	LEAQ   (SI)(R8*2), R10
	LEAQ   (R9)(R8*2), R11
	VPXORQ Z0, Z0, Z0
	VPXORQ Z1, Z1, Z1
	VPXORQ Z2, Z2, Z2
	VPXORQ Z3, Z3, Z3
	VPXORQ Z4, Z4, Z4
	VPXORQ Z5, Z5, Z5
	VPXORQ Z6, Z6, Z6
	VPXORQ Z7, Z7, Z7
	XORQ   AX, AX

bytes:
	VMOVDQU64 (DX)(AX*1), Z8
	VMOVDQU64 (BX)(AX*1), Z9
	VPXORQ    (SI)(AX*1), Z14, Z10
	VPXORQ    (R9)(AX*1), Z14, Z11
	VPXORQ    (R10)(AX*1), Z14, Z12
	VPXORQ    (R11)(AX*1), Z14, Z13
	VPDPBUSD  Z8, Z10, Z0
	VPDPBUSD  Z8, Z11, Z1
	VPDPBUSD  Z8, Z12, Z2
	VPDPBUSD  Z8, Z13, Z3
	VPDPBUSD  Z9, Z10, Z4
	VPDPBUSD  Z9, Z11, Z5
	VPDPBUSD  Z9, Z12, Z6
	VPDPBUSD  Z9, Z13, Z7
	ADDQ      $64, AX
	CMPQ      AX, R8
	JLT       bytes

	// low + 128 × high, and the upper half of each onto its lower half.
	VPSLLD        $7, Z4, Z4
	VPSLLD        $7, Z5, Z5
	VPSLLD        $7, Z6, Z6
	VPSLLD        $7, Z7, Z7
	VPADDD        Z4, Z0, Z0
	VPADDD        Z5, Z1, Z1
	VPADDD        Z6, Z2, Z2
	VPADDD        Z7, Z3, Z3
	VEXTRACTI64X4 $1, Z0, Y4
	VEXTRACTI64X4 $1, Z1, Y5
	VEXTRACTI64X4 $1, Z2, Y6
	VEXTRACTI64X4 $1, Z3, Y7
	VPADDD        Y4, Y0, Y0
	VPADDD        Y5, Y1, Y1
	VPADDD        Y6, Y2, Y2
	VPADDD        Y7, Y3, Y3
	VPHADDD       Y1, Y0, Y0
	VPHADDD       Y3, Y2, Y2
	VPHADDD       Y2, Y0, Y0
	VEXTRACTI128  $1, Y0, X1
	VPADDD        X1, X0, X0
	VPSUBD        X15, X0, X0
	VMOVDQU       X0, (DI)

	ADDQ $16, DI
	LEAQ (SI)(R8*4), SI
	DECQ CX
	JNZ  rows
	VZEROUPPER
	RET

// func addScaledAVX2(sum *float32, row *int8, n int, scale float32)
//
// The product and the sum are two roundings, as in the portable path: no
// fused multiply-add here.
TEXT ·addScaledAVX2(SB), NOSPLIT, $0-28
	MOVQ         sum+0(FP), DI
	MOVQ         row+8(FP), SI
	MOVQ         n+16(FP), CX
	VBROADCASTSS scale+24(FP), Y0

add:
	VPMOVSXBD (SI), Y1
	VPMOVSXBD 8(SI), Y2
	VPMOVSXBD 16(SI), Y3
	VPMOVSXBD 24(SI), Y4
	VCVTDQ2PS Y1, Y1
	VCVTDQ2PS Y2, Y2
	VCVTDQ2PS Y3, Y3
	VCVTDQ2PS Y4, Y4
	VMULPS    Y0, Y1, Y1
	VMULPS    Y0, Y2, Y2
	VMULPS    Y0, Y3, Y3
	VMULPS    Y0, Y4, Y4
	VADDPS    (DI), Y1, Y1
	VADDPS    32(DI), Y2, Y2
	VADDPS    64(DI), Y3, Y3
	VADDPS    96(DI), Y4, Y4
	VMOVUPS   Y1, (DI)
	VMOVUPS   Y2, 32(DI)
	VMOVUPS   Y3, 64(DI)
	VMOVUPS   Y4, 96(DI)
	ADDQ      $32, SI
	ADDQ      $128, DI
	SUBQ      $32, CX
	JNZ       add
	VZEROUPPER
	RET
