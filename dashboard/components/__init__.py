"""Small pieces of pages: functions from values to components, without Dash callbacks."""
