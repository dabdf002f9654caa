// Times single rays in Embree 3 with two threads. Triangles, camera, cosine-distributed rays and light are those of
// `cargo run --example ray_speed` (with `RAYON_NUM_THREADS=2`). Prints the best of 7 rounds.
//
//     apt-get install g++ libembree-dev
//     g++ -O3 -march=native docs/peers/embree_rays.cpp -lembree3 -pthread -o embree_rays && ./embree_rays

#include <embree3/rtcore.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <thread>
#include <vector>

namespace {

constexpr int RINGS = 500, SEGMENTS = 500, SIDE = 1024, ROUNDS = 7;
constexpr std::size_t TAKEN = 1 << 13;
constexpr double PI = 3.14159265358979323846;
constexpr float FOV = 40, OFFSET = 1e-4f;

struct Vec {
    float x, y, z;
};

Vec operator+(Vec a, Vec b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
Vec operator-(Vec a, Vec b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
Vec operator*(Vec a, float s) { return {a.x * s, a.y * s, a.z * s}; }
float dot(Vec a, Vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
Vec cross(Vec a, Vec b) { return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }
Vec normalized(Vec a) { return a * (1 / std::sqrt(dot(a, a))); }

// PCG (O'Neill 2014).
class Random {
public:
    float next() {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        const auto bits = static_cast<std::uint32_t>(((state >> 18) ^ state) >> 27);
        const auto by = static_cast<std::uint32_t>(state >> 59);
        return static_cast<float>(((bits >> by) | (bits << (-by & 31))) >> 8) * 0x1p-24f;
    }

private:
    std::uint64_t state = 1;
};

struct Ray {
    Vec origin, direction;
    float distance;
};

using Rays = std::vector<Ray>;
using Work = std::function<void(std::size_t, std::size_t)>;

// Traces all rays, in chunks of TAKEN per thread, and prints the best rate in Mrays/s.
void time_rays(const char *name, std::size_t count, const Work &trace) {
    double best = INFINITY;
    for (int round = 0; round < ROUNDS; round++) {
        const auto begun = std::chrono::steady_clock::now();
        std::atomic<std::size_t> next{0};
        const auto work = [&] {
            for (std::size_t first; (first = next.fetch_add(TAKEN)) < count;) {
                trace(first, std::min(count, first + TAKEN));
            }
        };
        std::thread other(work);
        work();
        other.join();
        best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count());
    }
    std::printf("%-16s %8.2f Mrays/s\n", name, static_cast<double>(count) / best / 1e6);
}

// Adds the `DisplacedSphere` with amplitudes of 0.08 and 0.03.
void add_sphere(RTCDevice device, RTCScene scene) {
    RTCGeometry sphere = rtcNewGeometry(device, RTC_GEOMETRY_TYPE_TRIANGLE);
    auto *point = static_cast<float *>(rtcSetNewGeometryBuffer(
        sphere, RTC_BUFFER_TYPE_VERTEX, 0, RTC_FORMAT_FLOAT3, 3 * sizeof(float), (RINGS + 1) * SEGMENTS));
    for (int ring = 0; ring <= RINGS; ring++) {
        for (int segment = 0; segment < SEGMENTS; segment++) {
            const double u = PI * ring / RINGS, v = 2 * PI * segment / SEGMENTS;
            const double radius =
                1 + 0.08 * std::sin(9 * u) * std::cos(7 * v) + 0.03 * std::sin(31 * u + 1) * std::sin(29 * v);
            *point++ = static_cast<float>(radius * std::sin(u) * std::cos(v));
            *point++ = static_cast<float>(radius * std::cos(u));
            *point++ = static_cast<float>(radius * std::sin(u) * std::sin(v));
        }
    }
    auto *corner = static_cast<unsigned *>(rtcSetNewGeometryBuffer(
        sphere, RTC_BUFFER_TYPE_INDEX, 0, RTC_FORMAT_UINT3, 3 * sizeof(unsigned), 2 * RINGS * SEGMENTS));
    for (unsigned ring = 0; ring < RINGS; ring++) {
        for (unsigned segment = 0; segment < SEGMENTS; segment++) {
            const unsigned a = ring * SEGMENTS + segment, b = ring * SEGMENTS + (segment + 1) % SEGMENTS;
            const unsigned c = b + SEGMENTS, d = a + SEGMENTS;
            for (unsigned index : {a, b, c, a, c, d}) {
                *corner++ = index;
            }
        }
    }
    rtcCommitGeometry(sphere);
    rtcAttachGeometry(scene, sphere);
    rtcReleaseGeometry(sphere);
}

Rays primary_rays(Random &random) {
    const Vec origin{0, 2, 5}, ahead = normalized(Vec{0, 0, 0} - origin);
    const Vec right = normalized(cross(ahead, {0, 1, 0})), up = cross(right, ahead);
    const auto half = static_cast<float>(std::tan(FOV / 2 * PI / 180));
    Rays rays;
    for (int row = 0; row < SIDE; row++) {
        for (int column = 0; column < SIDE; column++) {
            const float x = ((static_cast<float>(column) + random.next()) / SIDE * 2 - 1) * half;
            const float y = (1 - (static_cast<float>(row) + random.next()) / SIDE * 2) * half;
            rays.push_back({origin, normalized(ahead + right * x + up * y), INFINITY});
        }
    }
    return rays;
}

RTCRayHit embree_ray(const Ray &ray) {
    const auto [o, d, distance] = ray;
    RTCRayHit made{};
    made.ray = {o.x, o.y, o.z, 0, d.x, d.y, d.z, 0, distance, ~0u, 0, 0};
    made.hit.geomID = made.hit.instID[0] = RTC_INVALID_GEOMETRY_ID;
    return made;
}

} // namespace

int main() {
    RTCDevice device = rtcNewDevice("threads=2");
    RTCScene scene = rtcNewScene(device);
    add_sphere(device, scene);
    rtcCommitScene(scene);
    Random random;
    const Rays primary = primary_rays(random);
    std::vector<RTCRayHit> hits(primary.size());

    const auto single = [&](const Rays &rays) {
        return [&](std::size_t first, std::size_t last) {
            RTCIntersectContext context;
            rtcInitIntersectContext(&context);
            for (std::size_t at = first; at < last; at++) {
                RTCRayHit ray = embree_ray(rays[at]);
                rtcIntersect1(scene, &context, &ray);
                hits[at] = ray;
            }
        };
    };
    const auto stream = [&](const Rays &rays, RTCIntersectContextFlags flags) {
        return [&, flags](std::size_t first, std::size_t last) {
            RTCIntersectContext context;
            rtcInitIntersectContext(&context);
            context.flags = flags;
            std::transform(rays.begin() + first, rays.begin() + last, hits.begin() + first, embree_ray);
            rtcIntersect1M(scene, &context, &hits[first], last - first, sizeof(RTCRayHit));
        };
    };
    time_rays("primary, stream", primary.size(), stream(primary, RTC_INTERSECT_CONTEXT_FLAG_COHERENT));
    time_rays("primary, single", primary.size(), single(primary));

    Rays diffuse, shadow;
    const Vec light{1.98f, 2.64f, 3.3f};
    for (std::size_t at = 0; at < primary.size(); at++) {
        const RTCRayHit &hit = hits[at];
        if (hit.hit.geomID == RTC_INVALID_GEOMETRY_ID) {
            continue;
        }
        Vec normal = normalized({hit.hit.Ng_x, hit.hit.Ng_y, hit.hit.Ng_z});
        if (dot(normal, primary[at].direction) > 0) {
            normal = normal * -1;
        }
        const Vec point = primary[at].origin + primary[at].direction * hit.ray.tfar + normal * OFFSET;
        const float u = random.next(), radius = std::sqrt(u);
        const auto angle = static_cast<float>(2 * PI) * random.next();
        const Vec across = normalized(cross(normal, std::fabs(normal.x) > 0.5f ? Vec{0, 1, 0} : Vec{1, 0, 0}));
        const Vec along = cross(normal, across);
        const Vec direction =
            across * (radius * std::cos(angle)) + along * (radius * std::sin(angle)) + normal * std::sqrt(1 - u);
        diffuse.push_back({point, normalized(direction), INFINITY});
        const Vec to_light = light - point;
        if (dot(to_light, normal) > 0) {
            const float distance = std::sqrt(dot(to_light, to_light));
            shadow.push_back({point, to_light * (1 / distance), distance});
        }
    }
    time_rays("diffuse, single", diffuse.size(), single(diffuse));
    time_rays("diffuse, stream", diffuse.size(), stream(diffuse, RTC_INTERSECT_CONTEXT_FLAG_INCOHERENT));
    std::vector<RTCRay> blocked(shadow.size());
    time_rays("shadow, single", shadow.size(), [&](std::size_t first, std::size_t last) {
        RTCIntersectContext context;
        rtcInitIntersectContext(&context);
        for (std::size_t at = first; at < last; at++) {
            RTCRay ray = embree_ray(shadow[at]).ray;
            rtcOccluded1(scene, &context, &ray);
            blocked[at] = ray;
        }
    });
    std::printf("of %zu pixels: %zu diffuse and %zu shadow rays\n", primary.size(), diffuse.size(), shadow.size());
    rtcReleaseScene(scene);
    rtcReleaseDevice(device);
}
