// Calls functions with arguments read from stdin as 32-bit words and writes the results to stdout.

namespace calls {

using Word = unsigned;

template <class T>
constexpr unsigned words() {
    return std::is_same_v<T, bool> ? 1 : sizeof(T) / sizeof(Word);
}

template <class T>
T take(const Word *&from) {
    if constexpr (std::is_same_v<T, bool>) {
        return *from++ != 0;
    } else {
        T value;
        memcpy(&value, from, sizeof value);
        from += words<T>();
        return value;
    }
}

template <class T>
void put(const T &value, Word *to) {
    if constexpr (std::is_same_v<T, bool>) {
        *to = value;
    } else {
        memcpy(to, &value, sizeof value);
    }
}

struct Twin {
    unsigned words_in, words_out;
    std::function<void(const Word *, Word *)> call;
};

// Wraps a function for calls by words; the number of words of its arguments and result must be that in Rust.
template <unsigned words_in, unsigned words_out, class Result, class... Arguments>
Twin twin(Result (*function)(Arguments...)) {
    static_assert((0 + ... + words<std::decay_t<Arguments>>()) == words_in, "words of the arguments in Rust");
    static_assert(words<Result>() == words_out, "words of the result in Rust");
    auto call = [function](const Word *from, Word *to) {
        // Braced initialisers are evaluated in order.
        std::tuple<std::decay_t<Arguments>...> arguments{take<std::decay_t<Arguments>>(from)...};
        put(std::apply(function, arguments), to);
    };
    return {words_in, words_out, call};
}

// An array passed as one argument.
template <class T, int length>
struct Several {
    T items[length];
};

// The scene without instances. File format: the numbers of words of nodes, energy tables and materials, then these data and
// the primitives.
inline std::vector<Word> nodes, energy, materials, primitives;

inline void read_scene(const char *path) {
    FILE *file = fopen(path, "rb");
    Word counts[3], word;
    if (file == nullptr || fread(counts, sizeof(Word), 3, file) != 3) exit(3);
    nodes.resize(counts[0]);
    energy.resize(counts[1]);
    materials.resize(counts[2]);
    for (auto *words : {&nodes, &energy, &materials}) {
        if (fread(words->data(), sizeof(Word), words->size(), file) != words->size()) exit(3);
    }
    while (fread(&word, sizeof word, 1, file) == 1) primitives.push_back(word);
    fclose(file);
}

// The scene with instances. File format: for each list the number of its words, then the words.
inline std::vector<Word> instanced_nodes, instanced_primitives, instances, corners, vertices, instanced_materials, maps, textures, texels,
    opacity_maps;

inline void read_instanced_scene(const char *path) {
    FILE *file = fopen(path, "rb");
    for (auto *list : {&instanced_nodes, &instanced_primitives, &instances, &corners, &vertices, &instanced_materials, &maps, &textures,
                       &texels, &opacity_maps}) {
        Word count = 0;
        if (file == nullptr || fread(&count, sizeof count, 1, file) != 1) exit(3);
        list->resize(count);
        if (fread(list->data(), sizeof(Word), count, file) != count) exit(3);
    }
    fclose(file);
}

// Answers batches of calls, each preceded by its number of calls, until the input ends.
inline int serve(const Twin &twin) {
    std::vector<Word> in, out;
    Word records;
    while (fread(&records, sizeof records, 1, stdin) == 1) {
        in.resize(records * twin.words_in);
        out.resize(records * twin.words_out);
        if (fread(in.data(), sizeof(Word), in.size(), stdin) != in.size()) return 3;
        for (Word record = 0; record < records; record++) {
            twin.call(in.data() + record * twin.words_in, out.data() + record * twin.words_out);
        }
        fwrite(out.data(), sizeof(Word), out.size(), stdout);
        fflush(stdout);
    }
    return 0;
}

}  // namespace calls
