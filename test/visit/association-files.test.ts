import { describe, expect, test } from "vitest";
import {
  mostFile_bytes,
  writeAndroidFile,
  writeIosFile,
} from "../../src/visit/association-files.ts";
import { sha256 } from "../contract/sample-link.ts";

/** The contents of both association files; how they are served is tested in test/host. */

const ios_app = { bundle_id: "com.example.one", team_id: "ABCDE12345" };
const android_app = { package_name: "com.example.one", fingerprints: [sha256] };

describe("excluded paths in an association file", () => {
  test("are dropped before any app if the file would be too long", () => {
    const long = Array.from({ length: 200 }, (_, count) => `${"x".repeat(1900)}${count}`);
    const android_apps = [android_app, { ...android_app, package_name: "com.example.two" }];
    for (const [file, times] of [
      [writeIosFile([ios_app], long), 1],
      [writeAndroidFile([android_app], long), 1],
      [writeAndroidFile(android_apps, long), 2],
    ] as const) {
      const { text, apps, paths } = file;
      const size = Buffer.byteLength(text);
      expect(size).toBeLessThanOrEqual(mostFile_bytes);
      expect(size + times * 2000).toBeGreaterThan(mostFile_bytes);
      expect(apps).toBe(times);
      expect(text).toContain("com.example.one");
      expect(text).toContain(`${long[paths - 1]}"`);
      expect(text).not.toContain(`${long[paths]}"`);
    }
  });

  test("are all listed if they fit into the file", () => {
    const paths = Array.from({ length: 200 }, (_, count) => `p${count}`);
    expect(writeIosFile([ios_app], paths)).toMatchObject({ apps: 1, paths: 200 });
    expect(writeAndroidFile([android_app], paths)).toMatchObject({ apps: 1, paths: 200 });
    expect(writeAndroidFile([], paths)).toEqual({ text: "[]", apps: 0, paths: 200 });
  });
});

test("an association file with too many apps lists the first apps that fit", () => {
  const many = Array.from(
    { length: 2000 },
    (_, count) => `com.example.${"x".repeat(60)}.a${count}`,
  );
  const ios_apps = many.map((bundle_id) => ({ ...ios_app, bundle_id }));
  const android_apps = many.map((package_name) => ({ ...android_app, package_name }));
  for (const { text, apps, paths } of [
    writeIosFile(ios_apps, ["y".repeat(1900)]),
    writeAndroidFile(android_apps, ["y".repeat(1900)]),
  ]) {
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(mostFile_bytes);
    expect(Buffer.byteLength(text) + 600).toBeGreaterThan(mostFile_bytes);
    expect(text).toContain(`.a${apps - 1}"`);
    expect(text).not.toContain(`.a${apps}"`);
    expect(paths).toBe(0);
  }
});

test("an app that cannot be verified is omitted from association files", () => {
  expect(writeAndroidFile([{ ...android_app, fingerprints: ["AA:BB"] }], ["web"]).text).toBe("[]");
  expect(JSON.parse(writeIosFile([{ ...ios_app, team_id: "short" }], ["web"]).text)).toEqual({
    applinks: { details: [] },
    webcredentials: { apps: [] },
    appclips: { apps: [] },
  });
});
