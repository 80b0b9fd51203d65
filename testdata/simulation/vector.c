/* AVX2: products, gathers, masked moves, loads that straddle lines, stores past the caches. */
#include <immintrin.h>
#include <stdio.h>
#define N 64
static double a[N][N] __attribute__((aligned(32))), b[N][N] __attribute__((aligned(32))), c[N][N] __attribute__((aligned(32)));
static int v[4096] __attribute__((aligned(32))), w[4096] __attribute__((aligned(32)));
static unsigned char bytes[8192];

static void product(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j += 4) {
            __m256d s = _mm256_setzero_pd();
            for (int k = 0; k < N; k++)
                s = _mm256_add_pd(_mm256_mul_pd(_mm256_broadcast_sd(&a[i][k]), _mm256_load_pd(&b[k][j])), s);
            _mm256_store_pd(&c[i][j], s);
        }
}

static void fused(void)
{
    for (int i = 0; i < N; i += 2)
        for (int j = 0; j < N; j += 4) {
            __m256d s = _mm256_load_pd(&c[i][j]);
            s = _mm256_fmadd_pd(_mm256_load_pd(&a[i][j]), _mm256_set1_pd(2), s);
            _mm256_storeu_pd(&c[i][j], s);
            c[i][j] = _mm_cvtsd_f64(_mm_fmadd_sd(_mm_load_sd(&b[j][i]), _mm_load_sd(&a[j][i]), _mm_set_sd(1)));
        }
}

static void gathers(void)
{
    for (int i = 0; i + 8 <= 4096; i += 8) {
        __m256i at = _mm256_and_si256(_mm256_loadu_si256((__m256i *)(v + i)), _mm256_set1_epi32(4095));
        __m256i odd = _mm256_slli_epi32(at, 31);
        __m256i x = _mm256_i32gather_epi32(v, at, 4);
        x = _mm256_mask_i32gather_epi32(x, w, at, odd, 4);
        __m256i y = _mm256_i32gather_epi64((long long *)v, _mm_srli_epi32(_mm256_castsi256_si128(at), 1), 8);
        _mm256_maskstore_epi32(w + i, odd, _mm256_xor_si256(x, y));
        x = _mm256_maskload_epi32(v + 4088 - i, _mm256_slli_epi32(x, 3));
        _mm256_maskstore_epi64((long long *)(w + i), odd, x);
    }
}

static void straddle(int shift)
{
    __m256i s = _mm256_setzero_si256();
    for (int i = 0; i + 64 <= 8192; i += 29) {
        __m256i x = _mm256_loadu_si256((__m256i *)(bytes + (i + shift) % 8100));
        s = _mm256_add_epi8(s, _mm256_shuffle_epi8(x, s));
        s = _mm256_sad_epu8(s, x);
        _mm256_storeu_si256((__m256i *)(bytes + i), _mm256_adds_epu8(s, x));
        _mm_storeu_si128((__m128i *)(bytes + i + 7), _mm_loadu_si128((__m128i *)(bytes + i + 19)));
        *(int *)(bytes + i + 3) += _mm256_movemask_epi8(x);
    }
}

static void stream(void)
{
    for (int i = 0; i + 8 <= 4096; i += 8) {
        __m256i x = _mm256_stream_load_si256((__m256i *)(w + i));
        _mm256_stream_si256((__m256i *)(v + i), _mm256_cvtepu8_epi32(_mm_loadl_epi64((__m128i *)(bytes + i))));
        _mm256_store_si256((__m256i *)(w + i), _mm256_permute2x128_si256(x, *(__m256i *)(v + i), 0x21));
        _mm_prefetch((char *)(w + i + 64), _MM_HINT_T0);
    }
    _mm_sfence();
}

int main(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            a[i][j] = i + j, b[i][j] = i - j;
    for (int i = 0; i < 4096; i++)
        v[i] = i * 2654435761u >> 7, w[i] = i;
    for (int i = 0; i < 8192; i++)
        bytes[i] = i * 37;
    product();
    fused();
    for (int k = 0; k < 3; k++) {
        gathers();
        straddle(k * 11);
        stream();
    }
    _mm256_zeroupper();
    unsigned long sum = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            sum = sum * 31 + (long)c[i][j];
    for (int i = 0; i < 4096; i++)
        sum = sum * 31 + v[i] + w[i] + bytes[i * 2];
    printf("%lu\n", sum);
    return 0;
}
