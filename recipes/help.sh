# Shared by all recipes; sourced, not run. With -h or --help: prints the comment at the beginning of
# the recipe and ends it.
for argument in "$@"; do
  if [ "$argument" = -h ] || [ "$argument" = --help ]; then
    awk 'NR > 1 && !/^#/ {exit} NR > 1 {sub(/^# ?/, ""); print}' "$0"
    exit 0
  fi
done
unset argument
