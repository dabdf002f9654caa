// Launches of kernels on a host: arguments come in by stdin, and what a kernel may write goes out by stdout.

namespace stages {

using Bytes = std::vector<unsigned char>;

inline void read_exactly(void *to, size_t bytes) {
    if (fread(to, 1, bytes, stdin) != bytes) exit(3);
}

inline Bytes read_bytes() {
    unsigned length;
    read_exactly(&length, sizeof length);
    Bytes bytes(length);
    read_exactly(bytes.data(), length);
    return bytes;
}

// A pointer to the bytes, or the value that they are.
template <class T>
T argument(Bytes &bytes) {
    if constexpr (std::is_pointer_v<T>) {
        return reinterpret_cast<T>(bytes.data());
    } else {
        T value;
        if (bytes.size() != sizeof value) exit(4);
        memcpy(&value, bytes.data(), sizeof value);
        return value;
    }
}

template <class T>
constexpr bool is_written = std::is_pointer_v<T> && !std::is_const_v<std::remove_pointer_t<T>>;

template <class... Arguments, size_t... place>
void launch(void (*kernel)(Arguments...), unsigned blocks, std::index_sequence<place...>) {
    Bytes bytes[sizeof...(Arguments)];
    for (Bytes &argument : bytes) argument = read_bytes();
    std::tuple<Arguments...> arguments{argument<Arguments>(bytes[place])...};
    gridDim.x = blocks;
    for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++) std::apply(kernel, arguments);
    ((is_written<Arguments> ? fwrite(bytes[place].data(), 1, bytes[place].size(), stdout) : 0), ...);
    fflush(stdout);
}

template <class... Arguments>
void launch(void (*kernel)(Arguments...), unsigned blocks) {
    launch(kernel, blocks, std::index_sequence_for<Arguments...>());
}

}  // namespace stages
