# Writes a test of ctest for each check that `program checks` tells to the file `tests`.
execute_process(COMMAND "${program}" checks OUTPUT_VARIABLE checks COMMAND_ERROR_IS_FATAL ANY)
string(JSON count LENGTH "${checks}")
math(EXPR last "${count} - 1")
file(WRITE "${tests}" "")
foreach(place RANGE ${last})
  string(JSON id GET "${checks}" ${place} id)
  file(APPEND "${tests}" "add_test(\"conform.${id}\" \"${program}\" ${id})\n")
endforeach()
