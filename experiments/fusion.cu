// The fused graph of SC-SRGF, and silhouettes of all rows, on a GPU.
//
// The same as cohirf.clusterers.affinity.build_nearest_affinity and fuse_affinities without
// rescaling, but that of neighbours at equal distances the first are taken. A C++ compiler makes a
// slow version without a GPU of it, for tests.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#ifdef __CUDACC__
#define LAUNCH(kernel, blocks, bytes, ...) kernel<<<blocks, THREADS, bytes>>>(__VA_ARGS__)
const int THREADS = 128;
extern __shared__ float shared_rows[];
static void check(cudaError_t code) {
    if (code != cudaSuccess) {
        fprintf(stderr, "fusion.cu: %s\n", cudaGetErrorString(code));
        exit(1);
    }
}
static void *take(size_t bytes) {
    void *memory;
    check(cudaMalloc(&memory, bytes));
    return memory;
}
static void release(void *memory) { check(cudaFree(memory)); }
static void copy(void *to, const void *from, size_t bytes) {
    check(cudaGetLastError());  // of what was launched before
    check(cudaMemcpy(to, from, bytes, cudaMemcpyDefault));
}
static void clear(void *memory, size_t bytes) { check(cudaMemset(memory, 0, bytes)); }
#else
// one thread at a time
struct Place { int x, y; };
struct dim3 { int x, y; dim3(int x, int y) : x(x), y(y) {} };
static Place blockIdx, threadIdx;
static const Place blockDim = {1, 1};
static float shared_rows[1 << 20];
#define __global__ static
#define __syncthreads()
#define LAUNCH(kernel, blocks, bytes, ...)                        \
    for (blockIdx.y = 0; blockIdx.y < (blocks).y; blockIdx.y++)   \
        for (blockIdx.x = 0; blockIdx.x < (blocks).x; blockIdx.x++) kernel(__VA_ARGS__)
static void atomicAdd(float *to, float value) { *to += value; }
const int THREADS = 1;
static void *take(size_t bytes) { return malloc(bytes); }
static void release(void *memory) { free(memory); }
static void copy(void *to, const void *from, size_t bytes) { memcpy(to, from, bytes); }
static void clear(void *memory, size_t bytes) { memset(memory, 0, bytes); }
#endif

const int MOST_NEIGHBORS = 5;
const int ROWS_OF_BLOCK = 4;  // of a step of the fusion: they share what they read of neighbours

// Memory is taken from the device once, and kept for the next call unless that needs more.
const size_t ALIGNMENT = 256;
static char *pool = nullptr;
static size_t pool_bytes = 0;
static size_t used_bytes = 0;
static size_t aligned(size_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }
static void reserve(size_t bytes) {
    used_bytes = 0;
    if (bytes <= pool_bytes) return;
    if (pool) release(pool);
    pool = (char *)take(bytes);
    pool_bytes = bytes;
}
template <class T> static T *allocate(size_t number) {
    T *part = (T *)(pool + used_bytes);
    used_bytes += aligned(sizeof(T) * number);
    return part;
}

static int ceil_div(int number, int size) { return (number + size - 1) / size; }

// The nearest rows of each row in each subspace, itself among them, and the sum of all distances.
__global__ void find_nearest(const double *X, int n, int p, const int *subspaces, int size, int k,
                             int *near, double *distances, double *sums) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n) return;
    const int *features = subspaces + (size_t)blockIdx.y * size;
    double best[MOST_NEIGHBORS];
    int which[MOST_NEIGHBORS];
    for (int a = 0; a < k; a++) best[a] = INFINITY;
    double sum = 0;
    for (int other = 0; other < n; other++) {
        double square = 0;
        for (int f = 0; f < size; f++) {
            double gap = X[row * p + features[f]] - X[other * p + features[f]];
            square += gap * gap;
        }
        double distance = sqrt(square);
        sum += distance;
        double key = other == row ? -1 : distance;
        if (key >= best[k - 1]) continue;
        int a = k - 1;
        for (; a > 0 && best[a - 1] > key; a--) {
            best[a] = best[a - 1];
            which[a] = which[a - 1];
        }
        best[a] = key;
        which[a] = other;
    }
    size_t at = (size_t)blockIdx.y * n + row;
    for (int a = 0; a < k; a++) {
        near[at * k + a] = which[a];
        distances[at * k + a] = best[a] < 0 ? 0 : best[a];
    }
    sums[at] = sum;
}

// The status matrix: the mean of the matrix of scaled weights and its transpose.
__global__ void weigh(int n, int k, const int *near, const double *distances, const double *widths,
                      float faintest, float *status) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n) return;
    size_t at = ((size_t)blockIdx.y * n + row) * k;
    float *matrix = status + (size_t)blockIdx.y * n * n;
    float width = (float)-widths[blockIdx.y];
    float weights[MOST_NEIGHBORS];
    float sum = 0;
    for (int a = 0; a < k; a++) {
        weights[a] = fmaxf(expf((float)distances[at + a] / width), faintest);
        sum += weights[a];
    }
    for (int a = 0; a < k; a++) {
        float half = weights[a] / sum * 0.5f;
        atomicAdd(&matrix[(size_t)row * n + near[at + a]], half);
        atomicAdd(&matrix[(size_t)near[at + a] * n + row], half);
    }
}

// The largest entries of each row of a status matrix, itself among them, scaled to sum to 1.
__global__ void find_largest(int n, int k, const float *status, int *near, float *weights) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n) return;
    const float *matrix = status + (size_t)blockIdx.y * n * n;
    float best[MOST_NEIGHBORS];
    int which[MOST_NEIGHBORS];
    for (int a = 0; a < k; a++) best[a] = -1;
    for (int other = 0; other < n; other++) {
        float key = other == row ? INFINITY : matrix[(size_t)other * n + row];  // it is symmetric
        if (key <= best[k - 1]) continue;
        int a = k - 1;
        for (; a > 0 && best[a - 1] < key; a--) {
            best[a] = best[a - 1];
            which[a] = which[a - 1];
        }
        best[a] = key;
        which[a] = other;
    }
    float sum = 0;
    for (int a = 0; a < k; a++) {
        best[a] = matrix[(size_t)which[a] * n + row];
        sum += best[a];
    }
    size_t at = ((size_t)blockIdx.y * n + row) * k;
    for (int a = 0; a < k; a++) {
        near[at + a] = which[a];
        weights[at + a] = best[a] / sum;
    }
}

__global__ void add_up(int entries, int matrices, const float *status, const int *times,
                       float *total) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= entries) return;
    float sum = 0;
    for (int m = 0; m < matrices; m++) sum += times[m] * status[(size_t)m * entries + at];
    total[at] = sum;
}

// One step: neighbors @ mean of the others @ neighbors.T + identity.
__global__ void diffuse(int n, int k, int others, const int *near, const float *weights,
                        const float *status, const float *total, float *next) {
    int first = blockIdx.x * ROWS_OF_BLOCK;
    size_t from = (size_t)blockIdx.y * n * n;
    const int *nearest = near + (size_t)blockIdx.y * n * k;
    const float *weight = weights + (size_t)blockIdx.y * n * k;
    for (int r = 0; r < ROWS_OF_BLOCK && first + r < n; r++)
        for (int column = threadIdx.x; column < n; column += blockDim.x) {
            float sum = 0;
            for (int a = 0; a < k; a++) {
                int at = (first + r) * k + a;
                size_t entry = (size_t)nearest[at] * n + column;
                float rest = others ? total[entry] - status[from + entry] : total[entry];
                sum += weight[at] * rest;
            }
            shared_rows[r * n + column] = sum / (others ? others : 1);
        }
    __syncthreads();
    for (int column = threadIdx.x; column < n; column += blockDim.x) {
        float sums[ROWS_OF_BLOCK] = {0};
        for (int a = 0; a < k; a++) {
            int at = column * k + a;
            for (int r = 0; r < ROWS_OF_BLOCK; r++)
                sums[r] += weight[at] * shared_rows[r * n + nearest[at]];
        }
        for (int r = 0; r < ROWS_OF_BLOCK && first + r < n; r++)
            next[from + (size_t)(first + r) * n + column] = sums[r] + (first + r == column);
    }
}

// Silhouettes of rows that are sorted by cluster; cluster c begins at starts[c].
__global__ void find_silhouettes(const double *X, int n, int p, const int *starts, int clusters,
                                 double *silhouettes) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n) return;
    const double *own = X + (size_t)row * p;
    double inside = 0, outside = INFINITY;
    for (int c = 0; c < clusters; c++) {
        double sum = 0;
        for (int other = starts[c]; other < starts[c + 1]; other++) {
            double square = 0;
            for (int f = 0; f < p; f++) {
                double gap = own[f] - X[(size_t)other * p + f];
                square += gap * gap;
            }
            sum += sqrt(square);
        }
        int size = starts[c + 1] - starts[c];
        if (row < starts[c] || row >= starts[c + 1])
            outside = fmin(outside, sum / size);
        else
            inside = size == 1 ? -1 : sum / (size - 1);
    }
    double larger = fmax(inside, outside);
    silhouettes[row] = inside < 0 || larger == 0 ? 0 : (outside - inside) / larger;
}

// Write the sum of all status matrices after the last step to `total`. Matrix m counts times[m]
// times; each has `size` of the p features.
extern "C" void fuse(const double *X, int n, int p, const int *subspaces, int matrices, int size,
                     const int *times, int k, float faintest, int steps, float *total) {
    size_t entries = (size_t)n * n;
    int lists = matrices * n * k;
    int all = 0;
    for (int m = 0; m < matrices; m++) all += times[m];
    size_t of_entry = sizeof(float) * (2 * matrices + 1);
    size_t of_list = 2 * sizeof(int) + sizeof(double) + sizeof(float);
    size_t of_rest = sizeof(double) * (n * p + matrices * n + matrices * (size + 2));
    reserve(of_entry * entries + of_list * lists + of_rest + 16 * ALIGNMENT);
    double *data = allocate<double>(n * p);
    int *features = allocate<int>(matrices * size);
    int *counts = allocate<int>(matrices);
    int *near = allocate<int>(lists);
    double *distances = allocate<double>(lists);
    double *sums = allocate<double>(matrices * n);
    double *widths = allocate<double>(matrices);
    float *weights = allocate<float>(lists);
    float *status = allocate<float>(matrices * entries);
    float *next = allocate<float>(matrices * entries);
    float *added = allocate<float>(entries);
    copy(data, X, sizeof(double) * n * p);
    copy(features, subspaces, sizeof(int) * matrices * size);
    copy(counts, times, sizeof(int) * matrices);

    dim3 rows(ceil_div(n, THREADS), matrices);
    dim3 blocks(ceil_div(n, ROWS_OF_BLOCK), matrices);
    dim3 cells(ceil_div((int)entries, THREADS), 1);
    LAUNCH(find_nearest, rows, 0, data, n, p, features, size, k, near, distances, sums);
    double *sum_of = (double *)malloc(sizeof(double) * matrices * n);
    double *width_of = (double *)malloc(sizeof(double) * matrices);
    copy(sum_of, sums, sizeof(double) * matrices * n);
    for (int m = 0; m < matrices; m++) {
        double sum = 0;
        for (int row = 0; row < n; row++) sum += sum_of[m * n + row];
        width_of[m] = sum > 0 ? 2 * sum / entries : 1;
    }
    copy(widths, width_of, sizeof(double) * matrices);
    clear(status, sizeof(float) * matrices * entries);
    LAUNCH(weigh, rows, 0, n, k, near, distances, widths, faintest, status);
    LAUNCH(find_largest, rows, 0, n, k, status, near, weights);
    LAUNCH(add_up, cells, 0, (int)entries, matrices, status, counts, added);
    for (int step = 0; step < steps; step++) {
        int bytes = sizeof(float) * ROWS_OF_BLOCK * n;
        LAUNCH(diffuse, blocks, bytes, n, k, all - 1, near, weights, status, added, next);
        float *other = status;
        status = next;
        next = other;
        LAUNCH(add_up, cells, 0, (int)entries, matrices, status, counts, added);
    }
    copy(total, added, sizeof(float) * entries);
    free(sum_of);
    free(width_of);
}

// Write the silhouette of each row, of rows that are sorted by cluster, to `silhouettes`.
extern "C" void silhouettes_of(const double *X, int n, int p, const int *starts, int clusters,
                               double *silhouettes) {
    reserve(sizeof(double) * n * (p + 1) + sizeof(int) * (clusters + 1) + 3 * ALIGNMENT);
    double *data = allocate<double>(n * p);
    int *firsts = allocate<int>(clusters + 1);
    double *found = allocate<double>(n);
    copy(data, X, sizeof(double) * n * p);
    copy(firsts, starts, sizeof(int) * (clusters + 1));
    dim3 rows(ceil_div(n, THREADS), 1);
    LAUNCH(find_silhouettes, rows, 0, data, n, p, firsts, clusters, found);
    copy(silhouettes, found, sizeof(double) * n);
}
