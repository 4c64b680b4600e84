/** How calls that destroy something are approved (design.md, "Approval"). */
export const modes = ["read-only", "guarded", "full"] as const;
export type Mode = (typeof modes)[number];
