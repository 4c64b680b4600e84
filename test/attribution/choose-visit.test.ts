import { describe, expect, test } from "vitest";
import {
  chooseVisit,
  type CandidateVisit,
  type SeenPhone,
} from "../../src/attribution/compare-phones.ts";
import { joinMarks, readFingerprint, readRequest } from "../../src/attribution/marks.ts";
import { agents } from "./agents.ts";

/** Matching one of two phones by what their browsers and the SDK in the app report. */

const home = { group: "198.51.100.7", isShared: false } as const;

/** What the page's script and DeviceFingerprint.swift report about the same phone. */
const screen = {
  screen_width: 393,
  screen_height: 852,
  device_pixel_ratio: 3,
  timezone: "Europe/Berlin",
  calendar: "gregory",
};
const app = {
  ...screen,
  os_version: "26.1.0",
  language: "de-DE",
  languages: ["de-DE", "en-DE"],
  country_code: "DE",
  device_model: "iPhone15,2",
  idfv: "00000000-0000-4000-8000-000000000001",
  app_version: "1.0",
  app_build: "1",
  simulator: false,
};

type VisitDetails = {
  readonly agent?: string;
  readonly languages?: string;
  readonly script?: object | undefined;
  readonly address?: SeenPhone["address"];
  readonly linkId?: string;
};

function visit({
  agent = agents.safari26,
  languages = "de-DE,de;q=0.9",
  ...told
}: VisitDetails = {}) {
  const { script = { ...screen, language: "de-DE" }, linkId = "spring" } = told;
  const marks = joinMarks(readFingerprint({ ...script }), readRequest(agent, languages));
  const address = "address" in told ? told.address : home;
  return { marks, address, linkId } satisfies CandidateVisit;
}

function install(
  more: object = {},
  from: Pick<SeenPhone, "address"> = { address: home },
): SeenPhone {
  return { marks: readFingerprint({ ...app, ...more }), ...from };
}

const choose = (seen: SeenPhone, ...visits: readonly CandidateVisit[]) => chooseVisit(seen, visits);
const otherPhone = { ...screen, screen_width: 430, screen_height: 932, language: "de" };
const others = (count: number, more: VisitDetails = {}) =>
  Array.from({ length: count }, (_, at) =>
    visit({ script: { ...otherPhone, screen_width: 300 + at }, linkId: `${at}`, ...more }),
  );
const level = (seen: SeenPhone, ...visits: readonly CandidateVisit[]) =>
  choose(seen, ...visits)?.confidence;

describe("a visit", () => {
  test("matches an install on the same phone at the same IP address with medium confidence", () => {
    expect(choose(install(), visit())).toMatchObject({ confidence: "medium", score: 100 });
  });

  test("matches an install if the iOS versions agree or the browser reports iOS 26 as 18", () => {
    for (const [agent, os_version] of [
      [agents.safari26, "26.1.0"],
      [agents.safari18, "18.5.0"],
      [agents.safari17, "17.6.1"],
    ] as const) {
      expect(choose(install({ os_version }), visit({ agent }))).toMatchObject({ score: 100 });
    }
    // All browsers but Safari report 18 on iOS 26, so this does not make it another phone.
    for (const agent of [agents.chrome26, agents.instagram26]) {
      expect(choose(install(), visit({ agent }))).toMatchObject({
        confidence: "medium",
        score: 90,
      });
    }
  });

  test("matches with low confidence if the phone's OS version or calendar setting differs", () => {
    const older = install({ os_version: "17.2.0" });
    expect(choose(older, visit())).toMatchObject({ confidence: "low", score: 90 });
    expect(level(install({ calendar: "buddhist" }), visit())).toBe("low");
  });

  test("matches with low confidence if the page's script did not run", () => {
    const bare = visit({ script: {} });
    expect(choose(install(), bare)).toMatchObject({ confidence: "low", score: 68 });
  });

  test("matches despite a rotated screen or another name for the time zone or language", () => {
    const held = { screen_width: 852, screen_height: 393 };
    expect(level(install(held), visit())).toBe("medium");
    const zones = visit({ script: { ...screen, timezone: "Asia/Calcutta", language: "de-DE" } });
    expect(level(install({ timezone: "Asia/Kolkata" }), zones)).toBe("medium");
    const chinese = { language: "zh-CN", languages: "zh-CN,zh-Hans;q=0.9" };
    const seen = visit({ script: { ...screen, language: "zh-CN" }, languages: chinese.languages });
    expect(level(install({ language: "zh-Hans-CN" }), seen)).toBe("medium");
  });

  test.each([
    ["America/Argentina/Catamarca", "America/Catamarca"],
    ["America/Argentina/Cordoba", "America/Cordoba"],
    ["America/Argentina/Jujuy", "America/Jujuy"],
    ["America/Argentina/Mendoza", "America/Mendoza"],
    ["America/Atikokan", "America/Coral_Harbour"],
    ["Europe/Kyiv", "Europe/Kiev"],
  ])("matches if the phone's time zone is %s and the browser reports %s", (system, browser) => {
    const seen = visit({ script: { ...screen, timezone: browser, language: "de-DE" } });
    expect(level(install({ timezone: system }), seen)).toBe("medium");
  });

  test.each([
    ["a different screen size", { screen_width: 390, screen_height: 844 }],
    ["a different time zone", { timezone: "Europe/London" }],
    ["a different language", { language: "tr-DE", languages: ["tr-DE"] }],
    ["an iPad's model", { device_model: "iPad14,1" }],
  ])("does not match an install with %s", (_, more) => {
    expect(choose(install(more), visit())).toBeUndefined();
  });

  test("from an Android phone or a computer does not match an install on an iPhone", () => {
    for (const agent of [agents.android, agents.desktop]) {
      expect(level(install(), visit({ agent, script: {} }))).toBeUndefined();
    }
  });
});

describe("an install", () => {
  const relay = { address: { group: "172.226.3.4", isShared: true } } as const;

  test("matches no visit if the IP address of the install or of the visit is unknown", () => {
    const nowhere = { address: undefined };
    expect(level(install({}, nowhere), visit())).toBeUndefined();
    expect(level(install(), visit(nowhere))).toBeUndefined();
    expect(level(install({}, nowhere), visit(nowhere))).toBeUndefined();
  });

  test("does not match a visit from another IP address, even if that address is shared", () => {
    const office = { group: "203.0.113.9", isShared: false } as const;
    expect(level(install({}, { address: office }), visit())).toBeUndefined();
    expect(level(install({}, relay), visit())).toBeUndefined();
    expect(level(install(), visit(relay))).toBeUndefined();
  });

  test("from a shared IP address matches with low confidence if the page's script ran", () => {
    expect(choose(install({}, relay), visit(relay))).toMatchObject({
      confidence: "low",
      score: 60,
    });
    expect(level(install({}, relay), visit({ ...relay, script: {} }))).toBeUndefined();
  });

  test("matches with low confidence if other links were visited from its IP address", () => {
    expect(level(install(), visit(), ...others(1))).toBe("low");
    expect(level(install(), visit(), ...others(40))).toBe("low");
    const older = install({ os_version: "17.2.0" });
    expect(level(older, visit())).toBe("low");
    expect(level(older, visit(), ...others(1))).toBeUndefined();
    expect(level(install(), visit({ script: {} }), ...others(1))).toBeUndefined();
    const office = { group: "203.0.113.9", isShared: false } as const;
    expect(level(install(), visit(), ...others(9, { address: office }))).toBe("medium");
    expect(level(install(), visit(), ...others(9, { linkId: "spring" }))).toBe("medium");
  });
});

describe("two visits", () => {
  test("from identical phones to different links match no install", () => {
    expect(level(install(), visit(), visit({ linkId: "summer" }))).toBeUndefined();
    expect(level(install(), visit(), visit())).toBe("medium");
  });

  test.each([
    ["in Safari on an older system", visit({ agent: agents.safari18 })],
    ["in Instagram, which does not report the version", visit({ agent: agents.instagram26 })],
    ["in Chrome, which does not report the version", visit({ agent: agents.chrome26 })],
    ["without JavaScript", visit({ script: {} })],
  ])("match no install if their links differ, even if one visit was made %s", (_, other) => {
    const summer = visit({ linkId: "summer" });
    expect(choose(install(), other, summer)).toBeUndefined();
    expect(choose(install(), summer, other)).toBeUndefined();
  });

  test("to the same link are both returned, and the one most like the phone is the match", () => {
    const [older, own] = [visit({ agent: agents.safari18 }), visit()];
    expect(choose(install(), older, own)).toMatchObject({ visit: own, others: [older] });
  });
});

test("readFingerprint ignores invalid properties", () => {
  for (const told of [
    { screen_width: "393", screen_height: 852, device_pixel_ratio: 3 },
    { screen_width: -1, screen_height: Number.NaN, device_pixel_ratio: 1e9 },
    { timezone: "../../etc", calendar: "<b>", language: "x".repeat(500), languages: "de" },
    { os_version: "newest", device_model: "x86_64", languages: [{}] },
  ]) {
    expect(readFingerprint(told)).toEqual({});
  }
});
