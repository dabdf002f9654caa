// intersect, where more than an even sky is far away: what the rays that missed see of it. Room: src/stages/intersect.rs.
#include "shared/lanes.cuh"
#include "shared/light.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS)
    intersect_sky(Surroundings surroundings, const Lamp *lamps, Environment environment, const EnvironmentRow *rows,
                  const EnvironmentTexel *texels, const u32 *lanes, const u32 *queue, const u8 *flags, const Ray *rays,
                  const Throughput *throughputs, Rgb *radiances) {
    Lights lights = {surroundings, nullptr, nullptr, nullptr, nullptr, nullptr, lamps, environment, rows, texels};
    u32 count = *lanes;
    for (u32 lane = first_lane(); lane < count; lane += lane_stride()) {
        u32 path = queue[lane];
        if (path == NO_PATH || flags[lane] == 1) continue;
        Ray ray = rays[path];
        Rgb radiance = radiances[path];
        Vec3 sky = sky_light(lights, ray.direction, ray.pdf, radiance.scattered == 1);
        radiances[path].rgb = radiance.rgb + clamped(throughputs[path].rgb * sky, surroundings.most_indirect);
    }
}
