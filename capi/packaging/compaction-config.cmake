# find_package(compaction) defines the targets compaction::compaction (shared) and compaction::compaction_static.
get_filename_component(_compaction_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

if(NOT TARGET compaction::compaction)
  add_library(compaction::compaction SHARED IMPORTED)
  set_target_properties(compaction::compaction PROPERTIES
    IMPORTED_LOCATION "${_compaction_prefix}/lib/libcompaction.so"
    INTERFACE_INCLUDE_DIRECTORIES "${_compaction_prefix}/include")

  add_library(compaction::compaction_static STATIC IMPORTED)
  set_target_properties(compaction::compaction_static PROPERTIES
    IMPORTED_LOCATION "${_compaction_prefix}/lib/libcompaction.a"
    INTERFACE_INCLUDE_DIRECTORIES "${_compaction_prefix}/include"
    INTERFACE_LINK_LIBRARIES "dl;pthread;m")
endif()

unset(_compaction_prefix)
