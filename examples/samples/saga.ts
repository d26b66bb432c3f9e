/**
 * Books the parts of a trip one after the other; if one cannot be booked, those before it are canceled in reverse order.
 * Elsewhere: "saga" in Temporal's samples, "sagas" in Restate's.
 */
import { defineJob, defineWorkflow } from "../../src/index.ts";

interface Trip {
  readonly customer: string;
  readonly flight: string;
}

export const bookHotel = defineJob("book-hotel", ({ customer }: Trip) => `hotel for ${customer}`);
export const bookCar = defineJob("book-car", ({ customer }: Trip) => `car for ${customer}`);
export const bookFlight = defineJob("book-flight", ({ customer, flight }: Trip) => {
  if (flight === "full") throw new Error("there is no seat left");
  return `flight ${flight} for ${customer}`;
});
export const cancelBooking = defineJob("cancel-booking", (booking: string) => `${booking}: canceled`);

export const bookTrip = defineWorkflow("book-trip", async (ctx, trip: Trip) => {
  const undo = (booking: string): unknown => ctx.run(cancelBooking, booking, { retryCount: 5 });
  const hotel = await ctx.run(bookHotel, trip, { undo });
  const car = await ctx.run(bookCar, trip, { undo });
  const flight = await ctx.run(bookFlight, trip, { undo, retryCount: 1, retryPolicy: { initialMs: 1000 } });
  return [hotel, car, flight];
});
