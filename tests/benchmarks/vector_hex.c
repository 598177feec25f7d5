/* Hex 11 x 11 for many learners against a random opponent, as plain C does it: what `vector.py` compares with.
 * Rules by union-find; observations (own, opponent) are changed, not rewritten; no masks. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 11, WIDTH = SIZE + 2, PLACES = WIDTH * WIDTH, CELLS = SIZE * SIZE };

typedef struct {
    int8_t owners[PLACES];
    int16_t links[PLACES]; /* below 0: the head of a chain, with the complement of the sides it touches */
    int16_t stones;
    uint64_t random;
    int over;
} Board;

typedef struct {
    int count;
    Board start;
    Board *boards;
    int8_t *observations; /* (count, CELLS, 2) */
} Boards;

static const int AROUND[6] = {WIDTH, WIDTH - 1, -1, -WIDTH, 1 - WIDTH, 1};
static inline int place_of(int cell) { return (cell / SIZE + 1) * WIDTH + cell % SIZE + 1; }

static inline int find(int16_t *links, int place) {
    for (;;) {
        int link = links[place];
        if (link < 0) return place;
        int further = links[link];
        if (further < 0) return link;
        links[place] = further;
        place = further;
    }
}

static inline int play(Board *board, int cell, int player) { /* whether it wins */
    int place = place_of(cell), head = place;
    board->owners[place] = player;
    board->stones++;
    for (int i = 0; i < 6; i++)
        if (board->owners[place + AROUND[i]] == player) {
            int other = find(board->links, place + AROUND[i]);
            if (other != head) {
                board->links[other] &= board->links[head];
                board->links[head] = other;
                head = other;
            }
        }
    return board->links[head] == -4;
}

static inline double draw(Board *board) {
    board->random ^= board->random << 13;
    board->random ^= board->random >> 7;
    board->random ^= board->random << 17;
    return (double)(board->random >> 11) * 0x1p-53;
}

static inline int draw_cell(Board *board) {
    int cell;
    do cell = (int)(draw(board) * CELLS); while (board->owners[place_of(cell)] != -1);
    return cell;
}

static void begin(Boards *all, int number) {
    Board *board = &all->boards[number];
    uint64_t random = board->random;
    int8_t *seen = all->observations + (size_t)number * CELLS * 2;
    *board = all->start;
    board->random = random;
    memset(seen, 0, CELLS * 2);
    if (draw(board) < 0.5) { /* the opponent is first; players keep their sides of the board */
        int cell = draw_cell(board);
        play(board, cell, 1);
        seen[2 * cell + 1] = 1;
    }
}

Boards *new_boards(int count, uint64_t seed) {
    Boards *all = malloc(sizeof *all);
    Board *start = &all->start;
    memset(start, 0, sizeof *start);
    for (int i = 0; i < PLACES; i++) start->owners[i] = 3, start->links[i] = -1;
    for (int i = 0; i < CELLS; i++) start->owners[place_of(i)] = -1;
    for (int i = 1; i <= SIZE; i++) {
        int sides[4][2] = {{i, 1}, {(SIZE + 1) * WIDTH + i, (SIZE + 1) * WIDTH + 1},
                           {i * WIDTH, WIDTH}, {i * WIDTH + SIZE + 1, WIDTH + SIZE + 1}};
        for (int k = 0; k < 4; k++) {
            start->owners[sides[k][0]] = k / 2;
            if (i > 1) start->links[sides[k][0]] = sides[k][1];
            else start->links[sides[k][1]] = k % 2 ? -3 : -2;
        }
    }
    all->count = count;
    all->boards = calloc(count, sizeof(Board));
    all->observations = calloc(count, CELLS * 2);
    for (int i = 0; i < count; i++) {
        all->boards[i].random = (seed + i + 1) * 0x9E3779B97F4A7C15u;
        begin(all, i);
    }
    return all;
}

void free_boards(Boards *all) {
    free(all->boards);
    free(all->observations);
    free(all);
}

/* The next action on each board, legal and random; a board whose game is over gets any. */
void choose(Boards *all, uint64_t *random, int32_t *actions) {
    Board other;
    for (int i = 0; i < all->count; i++) {
        other = all->boards[i];
        other.random = *random;
        actions[i] = other.over ? 0 : draw_cell(&other);
        draw(&other);
        *random = other.random;
    }
}

/* Play the learners' actions and the answers; a game that was over begins again instead. How many were played. */
int step(Boards *all, const int32_t *actions, float *rewards, int8_t *over) {
    int played = 0;
    for (int i = 0; i < all->count; i++) {
        Board *board = &all->boards[i];
        int8_t *seen = all->observations + (size_t)i * CELLS * 2;
        rewards[i] = 0;
        over[i] = 0;
        if (board->over) {
            begin(all, i);
            continue;
        }
        played++;
        seen[2 * actions[i]] = 1;
        if (play(board, actions[i], 0)) {
            rewards[i] = 1;
        } else {
            int cell = draw_cell(board);
            seen[2 * cell + 1] = 1;
            if (play(board, cell, 1)) rewards[i] = -1;
        }
        over[i] = board->over = rewards[i] != 0;
    }
    return played;
}
