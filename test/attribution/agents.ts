/** Browsers of one phone. Since iOS 26 only Safari reports the real version, as its own. */
const ios = (system: string, rest: string) =>
  `Mozilla/5.0 (iPhone; CPU iPhone OS ${system} like Mac OS X) AppleWebKit/605.1.15 ` +
  `(KHTML, like Gecko) ${rest}`;

export const agents = {
  safari26: ios("18_6", "Version/26.1 Mobile/15E148 Safari/604.1"),
  safari18: ios("18_5", "Version/18.5 Mobile/15E148 Safari/604.1"),
  safari17: ios("17_6_1", "Version/17.6 Mobile/15E148 Safari/604.1"),
  chrome26: ios("18_7", "CriOS/142.0.7444.77 Mobile/15E148 Safari/604.1"),
  instagram26: ios(
    "18_6",
    "Mobile/23B85 Instagram 405.0.0.25.77 (iPhone15,2; iOS 26_1; de_DE; de; scale=3.00; 1179x2556)",
  ),
  android:
    "Mozilla/5.0 (Linux; Android 15; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) " +
    "Chrome/142.0.0.0 Mobile Safari/537.36",
  desktop:
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) " +
    "Version/26.1 Safari/605.1.15",
  /** The SDKs' own user agents, which cannot be compared with a browser's. */
  sdkIos: "DynalinksSDK-iOS/1.0.4",
  sdkAndroid: "DynalinksSDK-Android/1.0.3",
} as const;
