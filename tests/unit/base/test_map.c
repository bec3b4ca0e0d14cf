/* The index against a plain list that is searched from end to end. */
#include "base/map.h"

#include "chance.h"
#include "check.h"

enum { MOST = 3000 };

struct model {
    struct map_slot entry[MOST];
    size_t n;
};

static bool model_has(const struct model *m, uint64_t hash, uint32_t ref)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->entry[i].hash == hash && m->entry[i].ref == ref)
            return true;
    return false;
}

static size_t model_count(const struct model *m, uint64_t hash)
{
    size_t n = 0;

    for (size_t i = 0; i < m->n; i++)
        n += m->entry[i].hash == hash;
    return n;
}

static bool model_remove(struct model *m, uint64_t hash, uint32_t ref)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->entry[i].hash == hash && m->entry[i].ref == ref) {
            m->entry[i] = m->entry[--m->n];
            return true;
        }
    return false;
}

static size_t map_candidates(const struct map *map, const struct model *m, uint64_t hash)
{
    size_t n = 0;

    for (size_t at = map_first(map, hash); at != MAP_END; at = map_next(map, hash, at)) {
        assert_int_equal(map->slots[at].hash, hash);
        assert_true(model_has(m, hash, map->slots[at].ref));
        n++;
    }
    return n;
}

static void check_all(const struct map *map, const struct model *m)
{
    size_t used = 0;

    assert_int_equal(map->count, m->n);
    assert_true(map->count <= map->size / 4 * 3);
    assert_int_equal(map->size & (map->size - 1), 0);
    for (size_t i = 0; i < map->size; i++)
        used += map->slots[i].ref != MAP_FREE;
    assert_int_equal(used, m->n);
    for (size_t i = 0; i < m->n; i++)
        assert_int_equal(map_candidates(map, m, m->entry[i].hash),
                         model_count(m, m->entry[i].hash));
}

/* Hashes crowd into few homes, at the end of the table too, so that runs are long and wrap. */
static uint64_t any_hash(struct chance *chance)
{
    static const uint64_t crowded[] = {0, 1, 2, 14, 15, 0xffffffffffffffff, 0x1f, 0x3f, 0xffe};

    if (chance_below(chance, 2))
        return crowded[chance_below(chance, sizeof(crowded) / sizeof(*crowded))] +
               (chance_below(chance, 3) << 32);
    return chance_u64(chance) % 5000;
}

static void random_operations(void **state)
{
    struct chance chance = chance_of_test();
    static struct model model;
    struct map map;

    (void)state;
    map_init(&map);
    assert_int_equal(map_first(&map, 5), MAP_END);
    assert_false(map_remove(&map, 5, 5));
    for (int i = 0; i < 60000; i++) {
        uint64_t hash = any_hash(&chance);
        uint32_t ref = (uint32_t)chance_below(&chance, 8);
        /* Long spells of growing and of shrinking. */
        bool add = chance_below(&chance, 10) < (i / 6000 % 2 ? 3u : 7u);

        if (!add && model.n > 0) {
            if (chance_below(&chance, 2)) {
                size_t k = chance_below(&chance, model.n);

                hash = model.entry[k].hash;
                ref = model.entry[k].ref;
            }
            assert_int_equal(map_remove(&map, hash, ref), model_remove(&model, hash, ref));
        } else if (model.n < MOST && !model_has(&model, hash, ref)) {
            assert_int_equal(map_add(&map, hash, ref), 0);
            model.entry[model.n++] = (struct map_slot){hash, ref};
        }
        assert_int_equal(map_candidates(&map, &model, hash), model_count(&model, hash));
        if (i % 1000 == 0)
            check_all(&map, &model);
    }
    check_all(&map, &model);
    map_reset(&map);
    model.n = 0;
    check_all(&map, &model);
    map_deinit(&map);
    map_deinit(&map);
}

static void hashes_differ(void **state)
{
    struct map map;
    size_t worst = 0;

    (void)state;
    assert_int_not_equal(map_hash_u64(1), map_hash_u64(2));
    assert_int_not_equal(map_hash_span(SPAN_LITERAL("ab")), map_hash_span(SPAN_LITERAL("ba")));
    assert_int_equal(map_hash_span(span_of(NULL, 0)), map_hash_span(SPAN_LITERAL("")));
    /* Keys in sequence, as pids are, spread: no long run in a table three quarters full. */
    map_init(&map);
    for (uint32_t i = 0; i < 12000; i++)
        assert_int_equal(map_add(&map, map_hash_u64(i), i), 0);
    for (size_t i = 0, run = 0; i < map.size; i++) {
        run = map.slots[i].ref == MAP_FREE ? 0 : run + 1;
        worst = run > worst ? run : worst;
    }
    assert_in_range(worst, 1, 200);
    map_deinit(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_operations),
        cmocka_unit_test(hashes_differ),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
