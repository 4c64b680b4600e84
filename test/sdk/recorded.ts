/**
 * Requests of the public SDKs, by their sources: DeviceFingerprint.swift and APIClient.swift
 * (dynalinks-ios-sdk 1.0.4), and APIClient.kt (dynalinks-android-sdk 1.0.0 to 1.0.3, which differ
 * only in how they read Google Play's referrer). The SDKs for Flutter and React Native contain
 * these two: React Native 1.0.0 has Android 1.0.0, and Flutter 1.0.4 has Android 1.0.3. The values
 * are made up.
 */

export type SdkRequest = {
  readonly path: "/links/attribute" | "/fingerprints/match";
  readonly headers: Readonly<Record<string, string>>;
  /** The exact text, as the SDK writes its members in this order and form. */
  readonly body: string;
};

const iosHeaders = {
  "Content-Type": "application/json",
  "User-Agent": "DynalinksSDK-iOS/1.0.4",
  Accept: "*/*",
  "Accept-Language": "de-DE,de;q=0.9",
  "Accept-Encoding": "gzip, deflate, br",
};

/** OkHttp adds the charset and accepts gzip by itself. */
const androidHeaders = {
  "Content-Type": "application/json; charset=utf-8",
  Accept: "application/json",
  "User-Agent": "DynalinksSDK-Android/1.0.3",
  "Accept-Encoding": "gzip",
};

/** `JSONEncoder` writes a Double without a fraction as a whole number, and slashes escaped. */
export const iosFirstLaunch: SdkRequest = {
  path: "/fingerprints/match",
  headers: iosHeaders,
  body:
    '{"fingerprint":{"screen_width":393,"screen_height":852,"device_pixel_ratio":3,' +
    '"os_version":"26.1.0","timezone":"Europe\\/Berlin","calendar":"gregory",' +
    '"language":"de-DE","languages":["de-DE","en-DE"],"country_code":"DE",' +
    '"device_model":"iPhone15,2","idfv":"1D6B0C2E-6F0A-4E0B-9F43-1F3C9C6F0A11",' +
    '"app_version":"1.0","app_build":"1","simulator":false},"platform":"ios"}',
};

/** Optional values that are nil are omitted. */
export const iosFirstLaunchBare: SdkRequest = {
  path: "/fingerprints/match",
  headers: iosHeaders,
  body:
    '{"fingerprint":{"screen_width":393,"screen_height":852,"device_pixel_ratio":3,' +
    '"os_version":"26.1.0","timezone":"Europe\\/Berlin","calendar":"gregory",' +
    '"language":"de-DE","languages":["de-DE"],"device_model":"iPhone15,2","simulator":false},' +
    '"platform":"ios"}',
};

export function iosOpened(url: string): SdkRequest {
  const written = JSON.stringify(url).replaceAll("/", "\\/");
  const body = `{"url":${written},"platform":"ios"}`;
  return { path: "/links/attribute", headers: iosHeaders, body };
}

/** A deferred link comes from Google Play's referrer. */
export function androidOpened(url: string, isDeferred: boolean): SdkRequest {
  const body = JSON.stringify({ url, platform: "android", is_deferred: isDeferred });
  return { path: "/links/attribute", headers: androidHeaders, body };
}

/** InstallReferrerManager.kt, by the versions of the Android SDK. */
export const referrerReaders = {
  /** `url`, percent-encoded. */
  "1.0.0 and 1.0.1": readPlain,
  /** `_url`, in base64url without padding, else `url`. */
  "1.0.2 and 1.0.3": (referrer) => {
    const value = findParameter(referrer, "_url");
    const decoded = Buffer.from(value ?? "", "base64url").toString();
    return isWebAddress(decoded) ? decoded : readPlain(referrer);
  },
} as const satisfies Record<string, (referrer: string) => string | null>;

function readPlain(referrer: string): string | null {
  const value = findParameter(referrer, "url");
  if (value === undefined) return null;
  const decoded = decodeURIComponent(value.replaceAll("+", " "));
  return isWebAddress(decoded) ? decoded : null;
}

function findParameter(referrer: string, name: string): string | undefined {
  const pairs = referrer.split("&").map((pair) => pair.split(/=(.*)/s));
  return pairs.find(([key, value]) => key === name && value !== undefined)?.[1];
}

function isWebAddress(text: string): boolean {
  return /^https?:\/\//.test(text);
}
