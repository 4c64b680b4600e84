/**
 * The fields that endpoints of one kind share. An entry spreads one of these objects and then
 * overrides single fields.
 */

export const asRead = {
  method: "GET",
  success: { status: 200 },
  effect: "read",
  idempotent: true,
  overwrites: false,
} as const;

export const asCreate = {
  method: "POST",
  success: { status: 201 },
  effect: "write",
  idempotent: false,
  overwrites: false,
} as const;

export const asUpdate = {
  method: "PATCH",
  success: { status: 200 },
  effect: "write",
  idempotent: true,
  overwrites: true,
} as const;

/** Restoring is an endpoint that only Waypost is known to have. */
export const asRestore = {
  method: "POST",
  documented: false,
  hidden: true,
  success: { status: 200 },
  effect: "write",
  // Restoring something that was not deleted returns it unchanged.
  idempotent: true,
  overwrites: false,
} as const;

export const asDestroy = {
  method: "DELETE",
  success: { status: 204 },
  response: null,
  effect: "destroy",
  idempotent: true,
  overwrites: false,
} as const;
