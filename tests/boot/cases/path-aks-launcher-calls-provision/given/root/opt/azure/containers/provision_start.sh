# As the NBC command in the user data: whichever of the two runs, it runs once and alone.
mkdir -p /var/lib/boot-test
echo begin >>/var/lib/boot-test/order
sleep 0.5
echo end >>/var/lib/boot-test/order
echo run >>/var/lib/boot-test/runs
