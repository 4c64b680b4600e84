import { describe, expect, test } from "vitest";
import {
  mostFile_bytes,
  selectBrowserPaths,
  writeAndroidFile,
  writeIosFile,
} from "../../src/visit/association-files.ts";
import { sha256 } from "../contract/sample-link.ts";

/** What the two files say; how they are served is in test/host/association.test.ts. */

const ios_app = { bundle_id: "com.example.one", team_id: "ABCDE12345" };
const android_app = { package_name: "com.example.one", fingerprints: [sha256] };

describe("paths that stay in the browser", () => {
  test("are those of links, in one form, and none that a pattern would read as more", () => {
    const links = [
      { path: "/spring", shortened_path: "s1" },
      { path: "a*", shortened_path: null },
      { path: "what?", shortened_path: "s2" },
      { path: "", shortened_path: "" },
      { path: "100%", shortened_path: "gr%C3%BC%C3%9Fe" },
      { path: "half\ud800", shortened_path: undefined },
    ];
    expect(selectBrowserPaths(links)).toEqual([
      "spring",
      "s1",
      "s2",
      "100%",
      "grüße",
      "half\ufffd",
    ]);
  });

  test("are two hundred at most", () => {
    const links = Array.from({ length: 150 }, (_, count) => {
      return { path: `p${count}`, shortened_path: `s${count}` };
    });
    const paths = selectBrowserPaths(links);
    expect(paths).toHaveLength(200);
    expect(paths.at(-1)).toBe("s99");
  });

  test("go before an app does, where the file would be too long", () => {
    const long = Array.from({ length: 200 }, (_, count) => `${"x".repeat(1900)}${count}`);
    for (const file of [
      writeIosFile([ios_app], long),
      writeAndroidFile([android_app, { ...android_app, package_name: "com.example.two" }], long),
    ]) {
      expect(Buffer.byteLength(file)).toBeLessThanOrEqual(mostFile_bytes);
      expect(file).toContain("com.example.one");
      expect(file).toContain(`${long[0]}"`);
      expect(file).not.toContain(`${long[199]}"`);
    }
    expect(writeAndroidFile([android_app], long)).toContain(`${long[49]}"`);
  });
});

test("an app that cannot be verified is in neither file", () => {
  expect(writeAndroidFile([{ ...android_app, fingerprints: ["AA:BB"] }], ["web"])).toBe("[]");
  expect(JSON.parse(writeIosFile([{ ...ios_app, team_id: "short" }], ["web"]))).toEqual({
    applinks: { details: [] },
    webcredentials: { apps: [] },
    appclips: { apps: [] },
  });
});
