#include <immintrin.h>
#include <stdio.h>
static int v[1024] __attribute__((aligned(32)));
static float f[1024];
int main(void)
{
    for (int i = 0; i < 1024; i++)
        v[i] = i * 37 % 1001 - 500, f[i] = i * 0.25f - 100;
    __m256i s = _mm256_setzero_si256(), mask = _mm256_setr_epi32(-1, 0, -1, 0, 0, -1, -1, 0);
    __m256 t = _mm256_setzero_ps();
    for (int i = 0; i + 8 <= 1024; i += 8) {
        __m256i x = _mm256_load_si256((__m256i *)(v + i));
        s = _mm256_add_epi32(s, _mm256_mullo_epi32(x, _mm256_permutevar8x32_epi32(x, mask)));
        s = _mm256_xor_si256(s, _mm256_srlv_epi32(x, _mm256_and_si256(x, _mm256_set1_epi32(31))));
        s = _mm256_max_epi32(s, _mm256_maskload_epi32(v + i, mask));
        s = _mm256_add_epi32(s, _mm256_i32gather_epi32(v, _mm256_and_si256(x, _mm256_set1_epi32(1023)), 4));
        _mm256_maskstore_epi32(v + i, mask, _mm256_shuffle_epi8(s, x));
        t = _mm256_add_ps(t, _mm256_mul_ps(_mm256_loadu_ps(f + i), _mm256_cvtepi32_ps(x)));
        t = _mm256_blendv_ps(t, _mm256_loadu_ps(f + i), _mm256_cmp_ps(t, _mm256_set1_ps(1e6f), _CMP_GT_OQ));
        _mm256_storeu_ps(f + i, _mm256_min_ps(t, _mm256_hadd_ps(t, t)));
    }
    int out[8];
    float g[8];
    _mm256_storeu_si256((__m256i *)out, s);
    _mm256_storeu_ps(g, t);
    unsigned sum = 0;
    double total = 0;
    for (int i = 0; i < 8; i++)
        sum = sum * 31 + out[i], total += g[i];
    for (int i = 0; i < 1024; i++)
        sum += v[i], total += f[i] > 0;
    total = (int)(total / 1000);
    printf("%u %.1f\n", sum, total);
    return 0;
}
