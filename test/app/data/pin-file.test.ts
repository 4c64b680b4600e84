import { chmod, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { checkPin, openPin } from "../../../src/app/data/pin-file.ts";
import { UsageFault } from "../../../src/config.ts";
import { createEmptyFolder } from "../../support/folders.ts";
import { openForEach } from "../../support/open-for.ts";

/** The file of the operator's PIN. test/mcp/approval/pin.test.ts tests pages that ask for it. */

describe("the PIN file", () => {
  let path: string;

  openForEach(createEmptyFolder, (folder) => (path = join(folder.path, "pin")));

  test("contains only a hash of the PIN after the first start and then never changes", async () => {
    await writeFile(path, "correct horse\n");
    await chmod(path, 0o644);
    const first = await openPin(path);
    const stored = await readFile(path, "utf8");
    expect(stored).toMatch(/^scrypt\$[\w-]{22}\$[\w-]{43}\n$/);
    expect((await stat(path)).mode & 0o777).toBe(0o600);

    const second = await openPin(path);
    expect(await readFile(path, "utf8")).toBe(stored);
    for (const hash of [first, second]) {
      expect(hash).toBe(stored.trim());
      expect(await checkPin("correct horse", hash)).toBe(true);
      expect(await checkPin("correct horsf", hash)).toBe(false);
      expect(await checkPin("", hash)).toBe(false);
      expect(await checkPin(hash, hash)).toBe(false);
    }
  });

  test("contains a salted hash, so two files with the same PIN differ", async () => {
    const other = `${path}-other`;
    for (const file of [path, other]) {
      await writeFile(file, "123456");
      await openPin(file);
    }
    expect(await readFile(path, "utf8")).not.toBe(await readFile(other, "utf8"));
  });

  test("matches a PIN entered with spaces around it or in another Unicode form", async () => {
    await writeFile(path, "  pass\u00e9 123 ");
    const hash = await openPin(path);
    expect(await checkPin("passe\u0301 123", hash)).toBe(true);
    expect(await checkPin(" pass\u00e9 123\t", hash)).toBe(true);
    expect(await checkPin("pass\u00e9123", hash)).toBe(false);
  });

  test.each([
    ["a short", "12345"],
    ["an empty", "  \n"],
  ])("is rejected if it contains %s PIN, and the error does not show the PIN", async (_, text) => {
    await writeFile(path, text);
    const refused = await openPin(path).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(UsageFault);
    expect(String(refused)).toContain("at least 6 characters");
    expect(String(refused)).not.toContain("12345");
    expect(await readFile(path, "utf8")).toBe(text);
  });

  test("causes an error that names WAYPOST_APPROVAL_PIN_FILE if it cannot be read", async () => {
    await expect(openPin(path)).rejects.toThrow(/WAYPOST_APPROVAL_PIN_FILE: .*cannot be read/);
  });
});
