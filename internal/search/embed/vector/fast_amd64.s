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
