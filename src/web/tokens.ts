/** The visual language: colours, type, space and corners, light and dark, each named once. */
export const tokens = `
:root {
  color-scheme: light dark;
  --ground: #ffffff; --side: #f6f8fa; --card: #ffffff; --well: #f6f8fa;
  --ink: #1a1f36; --soft: #545969; --line: #e3e8ee; --edge: #87909f;
  --accent: #4b45d6; --accent-over: #3a34b8; --accent-soft: #eeedfc; --on-accent: #ffffff;
  --grave: #b3093c; --grave-over: #8c062f; --grave-soft: #fdf0f3;
  --good: #0a6b49; --good-soft: #e6f6ef; --warn-soft: #fdf5e4; --warn-line: #c98a1b;
  --old: #fdecea; --old-mark: #f6b9b3; --new: #e6f4ea; --new-mark: #a9dcb8;
  --shade: 0 1px 2px rgb(26 31 54 / .06), 0 2px 6px rgb(26 31 54 / .04);
  --text: .875rem; --small: .8125rem; --large: 1.0625rem; --title: 1.375rem;
  --s1: .25rem; --s2: .5rem; --s3: .75rem; --s4: 1rem; --s5: 1.5rem; --s6: 2rem; --s7: 3rem;
  --round: .375rem; --rounder: .625rem;
  --font: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", sans-serif;
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #0f1217; --side: #14181f; --card: #151a21; --well: #1b212a;
    --ink: #e7eaf0; --soft: #a3acba; --line: #262d38; --edge: #6f7988;
    --accent: #a5a1ff; --accent-over: #c0bdff; --accent-soft: #232247; --on-accent: #12121f;
    --grave: #ff8fa8; --grave-over: #ffb0c1; --grave-soft: #35171f;
    --good: #5fd0a2; --good-soft: #12301f; --warn-soft: #33280f; --warn-line: #c98a1b;
    --old: #331b1a; --old-mark: #6e2a26; --new: #16291d; --new-mark: #28583a;
    --shade: none;
  }
}
`;
