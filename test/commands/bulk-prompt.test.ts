import { PassThrough } from "node:stream";
import { describe, expect, test, vi } from "vitest";
import { confirmAtTerminal, Interrupted } from "../../src/commands/terminal/ask-to-go-on.ts";
import {
  createProgress,
  describeSeconds,
  type Screen,
} from "../../src/commands/terminal/progress-bar.ts";

/** Progress of a bulk job on a terminal, and the question before it. */

function createScreen(more: Partial<Screen> = {}) {
  const written: string[] = [];
  return { ...more, written, write: (text: string) => written.push(text) };
}

const count = (ended: number, total: number) => ({ ended, total });

describe("job progress on a terminal", () => {
  test("is redrawn on one line with the speed and the remaining time", () => {
    let time = 0;
    const screen = createScreen({ isTTY: true, columns: 80 });
    const progress = createProgress(screen, count(0, 600), { monotonic: () => time });
    progress.show(count(0, 600));
    time = 10_000;
    progress.show(count(100, 600));
    time = 60_000;
    progress.show(count(600, 600));
    progress.end();
    expect(screen.written).toEqual([
      "\r[------------------------------] 0/600",
      "\r[#####-------------------------] 100/600  10.0 a second  50 s left",
      "\r[##############################] 600/600  10.0 a second  0 s left ",
      "\n",
    ]);
  });

  test("is padded with spaces to overwrite a longer previous line", () => {
    let time = 1000;
    const screen = createScreen({ isTTY: true, columns: 80 });
    const progress = createProgress(screen, count(0, 100), { monotonic: () => time });
    time = 2000;
    progress.show(count(1, 100));
    time = 3000;
    progress.show(count(99, 100));
    const [longer = "", shorter = ""] = screen.written;
    expect(longer).toContain("1 min 39 s left");
    expect(shorter).toContain("1 s left");
    expect(shorter).toHaveLength(longer.length);
  });

  test.each([20, 24, 40, 79, 200])("fits into %d columns", (columns) => {
    let time = 0;
    const screen = createScreen({ isTTY: true, columns });
    const progress = createProgress(screen, count(0, 100_000), { monotonic: () => time });
    time = 1000;
    progress.show(count(9, 100_000));
    for (const line of screen.written) expect(line.length - 1).toBeLessThan(columns);
  });

  test("shows the speed measured since the job was resumed", () => {
    let time = 0;
    const screen = createScreen({ isTTY: true, columns: 0 });
    const progress = createProgress(screen, count(500, 600), { monotonic: () => time });
    time = 5000;
    progress.show(count(550, 600));
    expect(screen.written.at(-1)).toContain("550/600  10.0 a second  5 s left");
  });
});

test("without a terminal, progress is printed on a new line every 10 % or ten seconds", () => {
  let time = 0;
  const screen = createScreen();
  const progress = createProgress(screen, count(0, 1000), { monotonic: () => time });
  for (let done = 0; done <= 1000; done += 5) {
    progress.show(count(done, 1000));
    // The second half takes longer.
    time += done < 500 ? 500 : 2000;
  }
  progress.end();
  const places = screen.written.map((line) => Number(line.split(" ")[0]));
  expect(places.slice(0, 5)).toEqual([100, 200, 300, 400, 500]);
  expect(places.slice(5, 9)).toEqual([525, 550, 575, 600]);
  expect(screen.written[0]).toBe("100 of 1000, 10.0 a second, 1 min 30 s left\n");
  expect(screen.written.join("")).not.toContain("\r");
});

test.each([
  [0, "0 s"],
  [59, "59 s"],
  [60, "1 min"],
  [134, "2 min 14 s"],
  [3600, "1 h"],
  [3725, "1 h 2 min"],
  [90_000, "1 d 1 h"],
])("job progress shows %d seconds as %s", (seconds, said) => {
  expect(describeSeconds(seconds)).toBe(said);
});

async function ask(typed: string | undefined, wanted?: number, isStopped = false) {
  const input = Object.assign(new PassThrough(), { isTTY: true });
  const written: string[] = [];
  const write = vi.spyOn(process.stderr, "write").mockImplementation((text) => {
    written.push(String(text));
    return true;
  });
  const stop = new AbortController();
  const { signal } = stop;
  try {
    const asking = confirmAtTerminal(input, signal, wanted);
    if (isStopped) stop.abort();
    else input.end(typed);
    return { isMeant: await asking, said: written.join("") };
  } finally {
    write.mockRestore();
  }
}

describe("the approval prompt of a bulk change", () => {
  test.each([
    ["yes\n", true],
    [" yes \r\n", true],
    ["y\n", false],
    ["YES\n", false],
    ["no\n", false],
    ["\n", false],
    ["no\nyes\n", false],
    ["", false],
  ])("treats the input %j as approval: %s", async (typed, isMeant) => {
    expect(await ask(typed)).toMatchObject({ isMeant });
  });

  test.each([
    ["312\n", true],
    ["yes\n", false],
    ["31\n", false],
    ["3120\n", false],
    ["", false],
  ])(
    "for 312 links asks for the number 312, and treats the input %j as approval: %s",
    async (typed, isMeant) => {
      const asked = await ask(typed, 312);
      expect(asked.isMeant).toBe(isMeant);
      expect(asked.said).toContain("Type 312, the number of links, to continue: ");
    },
  );

  test("ends when the user cancels the command", async () => {
    await expect(ask(undefined, undefined, true)).rejects.toThrow(Interrupted);
  });
});
