/**
 * The path of styles and scripts. Signed-out visitors need them too, so it is below the sign-in
 * page.
 */
export const assetPath = "/sign-in/files/";
