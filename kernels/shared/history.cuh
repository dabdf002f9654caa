// Whether a pixel is good enough. Twin: src/history.rs.
#include "math.cuh"

struct History {
    f32 variance;
    f32 error;
    u32 good;
};

struct Round {
    f32 noise;
    f32 dark;
    u32 number;
    u32 before;
    u32 after;
    u32 limit;
};

inline History judged(History history, const Round &round, Vec3 earlier, Vec3 added, Vec3 mean) {
    if (round.number == 0) return {0.0f, 1.0f, 0};
    f32 before = (f32)round.before, after = (f32)round.after;
    f32 rounds = (f32)round.number;
    Vec3 apart = added - earlier;
    f32 found = dot(apart, apart) * (before * (after - before) / after);
    f32 variance = history.variance + (found - history.variance) * (1.0f / lesser(rounds, REMEMBERED));
    f32 light = mean.x + mean.y + mean.z + round.dark;
    f32 error = MEAN_DISTANCE * sqrtf(3.0f * variance / after) / light;
    f32 unseen = UNSEEN / after;
    f32 most = sqrtf(error * error + unseen * unseen) * (1.0f + CAUTION / rounds);
    bool good = most <= round.noise;
    return {variance, error, good ? history.good + 1 : 0};
}

inline bool is_done(const History &history) { return history.good >= ENOUGH; }

inline u64 error_units(f32 error) { return (u64)(lesser(error, MOST_ERROR) * ERROR_UNITS); }

inline u64 samples_to_go(const History &history, const Round &round) {
    f32 before = (f32)round.before, after = (f32)round.after;
    f32 cautious = 1.0f + CAUTION / (2.0f * (f32)round.number);
    f32 times = history.error * cautious / round.noise;
    f32 wanted = greater(after * (times * times), UNSEEN * cautious / round.noise);
    f32 again = history.good < ENOUGH ? (f32)(ENOUGH - history.good) : 0.0f;
    f32 missing = greater(wanted - after, 0.0f) + again * greater(after - before, 0.0f);
    return (u64)lesser(missing, greater((f32)round.limit - after, 0.0f));
}
